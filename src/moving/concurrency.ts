/** Runs a function over items with bounded concurrency. */

/** Rejects with the first failure, after the started calls have ended. */
export async function forEachConcurrently<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  count: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let previous: Promise<unknown> = Promise.resolve();
  const failed = new AbortController();
  const next = (): Promise<IteratorResult<Item>> => {
    const item = previous.then(() => source.next());
    previous = item.catch(() => {});
    return item;
  };
  const worker = async () => {
    while (!failed.signal.aborted) {
      const { done, value } = await next();
      if (done) return;
      await work(value as Item);
    }
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () =>
      worker().catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    ),
  );
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}
