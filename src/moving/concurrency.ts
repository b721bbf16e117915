/** Runs a function over items with bounded concurrency. */

/** Rejects with the first failure, after the started calls have ended. */
export async function forEachConcurrently<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  count: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let turn: Promise<unknown> = Promise.resolve();
  const over = new AbortController();
  const next = (): Promise<IteratorResult<Item>> => {
    const taken = turn.then(() => source.next());
    turn = taken.catch(() => {});
    return taken;
  };
  const worker = async () => {
    while (!over.signal.aborted) {
      const { done, value } = await next();
      if (done) return;
      await work(value as Item);
    }
  };
  const ends = await Promise.allSettled(
    Array.from({ length: count }, () =>
      worker().catch((error: unknown) => {
        over.abort();
        throw error;
      }),
    ),
  );
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
