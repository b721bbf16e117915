/** Announces a new page to screen readers and keeps the focus: a replaced element's successor gets it, or the new page's content. */
import { VisuallyHidden } from "@mantine/core";
import { useLocation, useRouter, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useIsFetching } from "@tanstack/react-query";

export const contentId = "content";

/** Long enough for a dialog to return the focus, and for a page to get its title. */
const soonMs = 60;

const focusable = "a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex='0']";

interface PendingFocus {
  /** Not one that is still loading. */
  readonly page: string | undefined;
  readonly path: readonly Element[];
  readonly places: readonly number[];
}

function pendingFocusOf(element: Element, page: PendingFocus["page"]): PendingFocus {
  const path: Element[] = [];
  for (let each: Element | null = element; each && each.id !== contentId; each = each.parentElement) path.push(each);
  const places = path.map((each) => [...each.querySelectorAll(focusable)].indexOf(element));
  return { page, path, places };
}

/** At the same index in the nearest remaining ancestor. */
function successorOf({ path, places }: PendingFocus): HTMLElement | undefined {
  for (const [level, each] of path.entries()) {
    if (!each.isConnected) continue;
    const near = [...each.querySelectorAll<HTMLElement>(focusable)];
    if (near.length > 0) return near[Math.min(Math.max(places[level] ?? 0, 0), near.length - 1)];
  }
  return undefined;
}

/** Dialogs return the focus themselves. */
function useFocusRestore(): void {
  const router = useRouter();
  useEffect(() => {
    const here = () => router.state.resolvedLocation?.pathname;
    let held: PendingFocus | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hasLostFocus = () => document.activeElement === document.body && held?.path[0]?.isConnected === false;
    const settle = () => {
      if (held === undefined || !hasLostFocus()) return;
      const content = document.getElementById(contentId);
      const next = held.page === here() ? successorOf(held) : undefined;
      held = undefined;
      (next ?? content)?.focus({ preventScroll: true });
    };
    const onFocus = ({ target }: FocusEvent) => {
      const isOnPage = target instanceof Element && target.closest(`#${contentId}`) !== null;
      if (isOnPage && target.id !== contentId) held = pendingFocusOf(target, here());
      else if (!(target instanceof Element) || target.closest("[data-portal]") === null) held = undefined;
    };
    const observer = new MutationObserver(() => {
      if (!hasLostFocus()) return;
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

function useAnnouncedTitle(): string {
  const { pathname } = useLocation();
  const first = useRef(pathname);
  const [announced, setAnnounced] = useState("");
  useEffect(() => {
    if (first.current === pathname) return;
    first.current = "";
    const announce = () => setAnnounced(document.title);
    let timer = setTimeout(announce, 2 * soonMs);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(announce, 2 * soonMs);
    });
    const title = document.querySelector("title");
    if (title) observer.observe(title, { childList: true, characterData: true, subtree: true });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [pathname]);
  return announced;
}

export function Arrival() {
  useFocusRestore();
  return (
    <VisuallyHidden role="status" aria-live="polite" data-page-announcement>
      {useAnnouncedTitle()}
    </VisuallyHidden>
  );
}

const afterMs = 300;

export function Progress() {
  const isNavigating = useRouterState({ select: ({ isLoading }) => isLoading });
  // Refetched data is already on the page.
  const isNew = useIsFetching({ predicate: ({ state }) => state.data === undefined }) > 0;
  const isShown = useDelayedTrue(isNavigating || isNew);
  return <div className="progress">{isShown && <div role="progressbar" aria-label="Loading" />}</div>;
}

function useDelayedTrue(value: boolean): boolean {
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
