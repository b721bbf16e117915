/** Output and exit code of the scripts. */

export const say = (line: string) => process.stdout.write(`${line}\n`);

/** Exits with the result of `main`, or with 1 on an error or Ctrl+C. */
export async function script(main: () => Promise<number>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  process.exitCode = await main().catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  });
}
