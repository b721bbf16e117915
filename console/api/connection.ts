/** Whether the server answers, as far as requests have shown: lost by one that got no answer, found again by one that did. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { ApiError } from "./errors.ts";

const listeners = new Set<() => void>();
let isLost = false;
/** The places on the page that say that the server can't be reached, in the order in which they came. */
const notices: object[] = [];

const notify = (): void => listeners.forEach((listener) => listener());

function set(value: boolean): void {
  if (isLost === value) return;
  isLost = value;
  notify();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useIsLost = (): boolean => useSyncExternalStore(subscribe, () => isLost);

/** Adds a place that says that the server can't be reached, and gives the way to remove it. */
export function addNotice(notice: object): () => void {
  if (!notices.includes(notice)) notices.push(notice);
  notify();
  return () => {
    const at = notices.indexOf(notice);
    if (at >= 0) notices.splice(at, 1);
    notify();
  };
}

/** Whether this place is the one that says it: several parts of a page may fail at once, and it is said once. */
export function useNotice(): boolean {
  const [notice] = useState(() => ({}));
  useEffect(() => addNotice(notice), [notice]);
  return useSyncExternalStore(subscribe, () => notices[0] === notice);
}

export const useHasNotice = (): boolean => useSyncExternalStore(subscribe, () => notices.length > 0);

/** Any answer counts, also a refusal; but not that of a proxy that can't reach the server either. */
const noAnswers = [0, 502, 503, 504];
export const isNoAnswer = (error: unknown): boolean => error instanceof ApiError && noAnswers.includes(error.status);

export const heard = (error?: unknown): void => set(isNoAnswer(error));

/** Asks the server whether it is ready. */
export async function isAnswering(): Promise<boolean> {
  const answer = await fetch("/readyz", { cache: "no-store" }).catch(() => undefined);
  // Read to its end: until then the browser holds the connection.
  await answer?.text().catch(() => undefined);
  set(answer?.ok !== true);
  return answer?.ok === true;
}
