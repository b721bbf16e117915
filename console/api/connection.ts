/** Whether the server is reachable: lost when a request gets no response, found again when one does. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { ApiError } from "./errors.ts";

const listeners = new Set<() => void>();
let isLost = false;
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

export function addNotice(notice: object): () => void {
  if (!notices.includes(notice)) notices.push(notice);
  notify();
  return () => {
    const at = notices.indexOf(notice);
    if (at >= 0) notices.splice(at, 1);
    notify();
  };
}

/** Only one of several failed parts reports that the server can't be reached. */
export function useNotice(): boolean {
  const [notice] = useState(() => ({}));
  useEffect(() => addNotice(notice), [notice]);
  return useSyncExternalStore(subscribe, () => notices[0] === notice);
}

export const useHasNotice = (): boolean => useSyncExternalStore(subscribe, () => notices.length > 0);

/** Any other response counts, even an error. */
const unreachableStatuses = [0, 502, 503, 504];
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ApiError && unreachableStatuses.includes(error.status);

export const noteResponse = (error?: unknown): void => set(isUnreachable(error));

export async function isServerReady(): Promise<boolean> {
  const readiness = await fetch("/readyz", { cache: "no-store" }).catch(() => undefined);
  // Until the body is read, the browser keeps the connection open.
  await readiness?.text().catch(() => undefined);
  set(readiness?.ok !== true);
  return readiness?.ok === true;
}
