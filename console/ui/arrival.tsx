/**
 * What a browser does by itself when it loads a page, for pages that are turned without loading: the new one is told to those who can't see
 * it, and the focus is never lost. Where the thing that had it went away, it goes to what took its place; on a new page, to the content.
 */
import { VisuallyHidden } from "@mantine/core";
import { useLocation, useRouter, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useIsFetching } from "@tanstack/react-query";

/** The element that holds the page's content. */
export const contentId = "content";

/** Long enough for a dialog to give the focus back, and for a page to get its name. */
const soonMs = 60;

const focusable = "a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex='0']";

interface Held {
  /** The page that it was on: the one that is shown, not one that is still on its way. */
  readonly page: string | undefined;
  /** The thing, and what it is in, from the inside out. */
  readonly path: readonly Element[];
  /** Its place among whatever else can be reached in what it is in. */
  readonly places: readonly number[];
}

function heldBy(element: Element, page: Held["page"]): Held {
  const path: Element[] = [];
  for (let each: Element | null = element; each && each.id !== contentId; each = each.parentElement) path.push(each);
  const places = path.map((each) => [...each.querySelectorAll(focusable)].indexOf(element));
  return { page, path, places };
}

/** What is now where the thing was: the same place in the nearest thing around it that is still there. */
function successorOf({ path, places }: Held): HTMLElement | undefined {
  for (const [level, each] of path.entries()) {
    if (!each.isConnected) continue;
    const near = [...each.querySelectorAll<HTMLElement>(focusable)];
    if (near.length > 0) return near[Math.min(Math.max(places[level] ?? 0, 0), near.length - 1)];
  }
  return undefined;
}

/** Keeps the focus on the page. What opens over it gives it back by itself. */
function useKeptFocus(): void {
  const router = useRouter();
  useEffect(() => {
    const here = () => router.state.resolvedLocation?.pathname;
    let held: Held | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isAdrift = () => document.activeElement === document.body && held?.path[0]?.isConnected === false;
    const settle = () => {
      if (held === undefined || !isAdrift()) return;
      const content = document.getElementById(contentId);
      const next = held.page === here() ? successorOf(held) : undefined;
      held = undefined;
      (next ?? content)?.focus({ preventScroll: true });
    };
    const onFocus = ({ target }: FocusEvent) => {
      const isOnPage = target instanceof Element && target.closest(`#${contentId}`) !== null;
      if (isOnPage && target.id !== contentId) held = heldBy(target, here());
      else if (!(target instanceof Element) || target.closest("[data-portal]") === null) held = undefined;
    };
    const observer = new MutationObserver(() => {
      if (!isAdrift()) return;
      clearTimeout(timer);
      timer = setTimeout(settle, soonMs);
    });
    document.addEventListener("focusin", onFocus);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener("focusin", onFocus);
    };
  }, [router]);
}

/** The name of the page, once it has one, whenever it is another one. */
function useToldTitle(): string {
  const { pathname } = useLocation();
  const first = useRef(pathname);
  const [told, setTold] = useState("");
  useEffect(() => {
    if (first.current === pathname) return;
    first.current = "";
    const tell = () => setTold(document.title);
    let timer = setTimeout(tell, 2 * soonMs);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(tell, 2 * soonMs);
    });
    const title = document.querySelector("title");
    if (title) observer.observe(title, { childList: true, characterData: true, subtree: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [pathname]);
  return told;
}

export function Arrival() {
  useKeptFocus();
  return (
    <VisuallyHidden role="status" aria-live="polite" data-page-told>
      {useToldTitle()}
    </VisuallyHidden>
  );
}

const afterMs = 300;

export function Progress() {
  const isTurning = useRouterState({ select: ({ isLoading }) => isLoading });
  // What is read anew is on the page already.
  const isNew = useIsFetching({ predicate: ({ state }) => state.data === undefined }) > 0;
  const isShown = useLasting(isTurning || isNew);
  return <div className="progress">{isShown && <div role="progressbar" aria-label="Loading" />}</div>;
}

/** True once it has been so for a moment; false at once. */
function useLasting(value: boolean): boolean {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (!value) return;
    const timer = setTimeout(() => setLong(true), afterMs);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [value]);
  return value && isLong;
}
