/** Processes items concurrently in a bounded number of slots, so that one slow provider does not block the others. */

export interface SlotOptions<Item> {
  readonly slots: number;
  next(inProgress: readonly Item[]): Promise<readonly Item[]>;
  work(item: Item): Promise<void>;
}

export async function runInSlots<Item>({ slots, next, work }: SlotOptions<Item>, signal: AbortSignal): Promise<number> {
  const inProgress = new Map<Item, Promise<void>>();
  let handled = 0;
  let failure: unknown;
  const start = (item: Item) => {
    const ended = work(item)
      .then(() => void (handled += 1))
      .catch((error: unknown) => void (failure ??= error))
      .finally(() => inProgress.delete(item));
    inProgress.set(item, ended);
  };
  while (!signal.aborted) {
    const free = slots - inProgress.size;
    const found = free > 0 && failure === undefined ? await next([...inProgress.keys()]) : [];
    for (const item of found.slice(0, free)) start(item);
    if (inProgress.size === 0) break;
    await Promise.race(inProgress.values());
  }
  await Promise.all(inProgress.values());
  if (failure !== undefined) throw failure;
  return handled;
}
