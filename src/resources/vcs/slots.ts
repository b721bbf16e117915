/** Several things at once, and never more than a few for the same party: one that does not answer holds nobody else up. */

export interface Slots<Item> {
  readonly slots: number;
  /** Those that may be begun, given what is under way. */
  next(underway: readonly Item[]): Promise<readonly Item[]>;
  work(item: Item): Promise<void>;
}

/** Until nothing is left to begin and everything has ended, or it is to end. Gives how many; raises the first that failed. */
export async function inSlots<Item>({ slots, next, work }: Slots<Item>, signal: AbortSignal): Promise<number> {
  const underway = new Map<Item, Promise<void>>();
  let handled = 0;
  let failure: unknown;
  const begin = (item: Item) => {
    const ended = work(item)
      .then(() => void (handled += 1))
      .catch((error: unknown) => void (failure ??= error))
      .finally(() => underway.delete(item));
    underway.set(item, ended);
  };
  while (!signal.aborted) {
    const free = slots - underway.size;
    const found = free > 0 && failure === undefined ? await next([...underway.keys()]) : [];
    for (const item of found.slice(0, free)) begin(item);
    if (underway.size === 0) break;
    await Promise.race(underway.values());
  }
  await Promise.all(underway.values());
  if (failure !== undefined) throw failure;
  return handled;
}
