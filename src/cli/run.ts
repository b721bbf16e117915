/** Runs the command that the arguments name, and turns errors into a message and an exit code. */
import { AppError } from "../kernel/errors.ts";
import { asSentence, quoted } from "../kernel/text.ts";
import { SettingError } from "../kernel/settings.ts";
import { invocationOf, parse } from "./arguments.ts";
import { type Command, type CommandResult, type Terminal, UsageError } from "./command.ts";
import { commands } from "./commands.ts";
import type { EnvironmentVariables } from "./environment.ts";
import { commandHelp, groupHelp, overview } from "./help.ts";

const failureCode = 1;
const usageErrorCode = 2;

/** 0 for success, 1 for a failure, 2 for wrong arguments; commands can return others. */
export async function run(
  words: readonly string[],
  environment: EnvironmentVariables,
  terminal: Terminal,
): Promise<number> {
  try {
    return (await dispatch(words, environment, terminal))?.exitCode ?? 0;
  } catch (error) {
    terminal.note(messageOf(error));
    return error instanceof UsageError ? usageErrorCode : failureCode;
  }
}

async function dispatch(
  words: readonly string[],
  environment: EnvironmentVariables,
  terminal: Terminal,
): Promise<CommandResult | void> {
  const [first = "help", ...rest] = words;
  if (first === "--version" || first === "-v") return dispatch(["version", ...rest], environment, terminal);
  if (first === "help" || first === "--help" || first === "-h") return terminal.out(helpOn(rest));
  const found = findCommand(words);
  if (found === undefined) return terminal.out(helpOnGroup(words));
  const parsed = parse(found.command, found.rest);
  if (parsed.wantsHelp) return terminal.out(commandHelp(found.command));
  return found.command.run(invocationOf(found.command, parsed, environment, terminal));
}

function findCommand(words: readonly string[]): { command: Command; rest: string[] } | undefined {
  for (const command of commands) {
    const name = command.name.split(" ");
    if (name.every((word, position) => words[position] === word)) return { command, rest: words.slice(name.length) };
  }
  return undefined;
}

function helpOn(words: readonly string[]): string {
  if (words.length === 0 || words[0] === "--help" || words[0] === "-h") return overview(commands);
  const found = findCommand(words);
  return found === undefined ? helpOnGroup([words[0] ?? "", "--help"]) : commandHelp(found.command);
}

function helpOnGroup([first = "", second]: readonly string[]): string {
  const group = commands.filter((command) => command.name.startsWith(`${first} `));
  if (group.length === 0)
    throw new UsageError(`Unknown command ${quoted(first)}. Run 'cadastre help' for a list of commands.`);
  if (second === "--help" || second === "-h") return groupHelp(first, group);
  const rest = group.map((command) => command.name.slice(first.length + 1));
  throw new UsageError(
    `'cadastre ${first}' needs one of these commands: ${rest.join(", ")}. See 'cadastre ${first} --help'.`,
  );
}

/** Unexpected errors include the stack, so that they can be reported. */
function messageOf(error: unknown): string {
  if (error instanceof AppError) return error.faults.map((fault) => asSentence(fault.detail)).join(" ");
  if (error instanceof SettingError) return error.faults.map(asSentence).join("\n");
  if (error instanceof UsageError) return asSentence(error.message);
  return `Unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
