/** How each of the scripts speaks and ends. */

export const say = (line: string) => process.stdout.write(`${line}\n`);

/** The exit code is what `main` gives back, and 1 where it raises an Error or somebody presses Ctrl+C. */
export async function script(main: () => Promise<number>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  process.exitCode = await main().catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  });
}
