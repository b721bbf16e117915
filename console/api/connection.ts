/** Whether the server answers, as far as it was asked: lost by a request that got no answer, found again by one that did. */
import { useSyncExternalStore } from "react";
import { ApiError } from "./errors.ts";

const listeners = new Set<() => void>();
let isLost = false;

function set(value: boolean): void {
  if (isLost === value) return;
  isLost = value;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useIsLost = (): boolean => useSyncExternalStore(subscribe, () => isLost);

/** Any answer counts, also a refusal; but not that of somebody between, who has lost the server as well. */
const noAnswers = [0, 502, 503, 504];
export const isNoAnswer = (error: unknown): boolean => error instanceof ApiError && noAnswers.includes(error.status);

export const heard = (error?: unknown): void => set(isNoAnswer(error));

/** Asks the server whether it can do its work. */
export async function isAnswering(): Promise<boolean> {
  const answer = await fetch("/readyz", { cache: "no-store" }).catch(() => undefined);
  // Read to its end: until then the browser holds the connection.
  await answer?.text().catch(() => undefined);
  set(answer?.ok !== true);
  return answer?.ok === true;
}
