/**
 * Awaits statements of one transaction that don't need each other's results. PostgreSQL receives those that are sent in the same turn as one
 * packet. Waits for all of them, because none may run after the rollback that follows an error. Throws the first error in their order.
 */
export async function pipelined<const Statements extends readonly unknown[]>(
  statements: Statements,
): Promise<{ -readonly [Position in keyof Statements]: Awaited<Statements[Position]> }> {
  const outcomes = await Promise.allSettled(statements);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  }) as never;
}
