/** Parses the words after a command's name. Throws UsageError if they don't fit the command. */
import { parseArgs } from "node:util";
import { quoted } from "../kernel/text.ts";
import { fileFlag, flagOf, formerName } from "../kernel/settings.ts";
import { readSettings, settingTable } from "../settings.ts";
import { type Command, type Invocation, type Terminal, UsageError } from "./command.ts";
import { type EnvironmentVariables, unknownVariables } from "./environment.ts";

export interface ParsedArguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly words: readonly string[];
  readonly wantsHelp: boolean;
}

const nameOfFlag = (setting: string) => flagOf(setting).slice(2);

/** A secret also has a flag for its file. */
const settingNames = ({ settings = [], ownSettings = {} }: Command): readonly string[] =>
  [...settings.map((name) => [name, settingTable[name]] as const), ...Object.entries(ownSettings)].flatMap(
    ([name, { isSecret, formerly }]) =>
      [name, ...(formerly === undefined ? [] : [formerName(formerly)])].flatMap((each) =>
        isSecret === true ? [each, fileFlag(each)] : [each],
      ),
  );

export function parse(command: Command, words: readonly string[]): ParsedArguments {
  const { values, positionals } = parseWords(command, words);
  const wantsHelp = values["help"] === true;
  if (wantsHelp) return { values, words: positionals, wantsHelp };
  const given = withArgument(command, values, positionals);
  refuseMissing(command, given, positionals);
  return { values: given, words: positionals, wantsHelp };
}

function withArgument(
  command: Command,
  values: ParsedArguments["values"],
  [word]: readonly string[],
): ParsedArguments["values"] {
  const option = command.argument?.option;
  if (option === undefined || word === undefined) return values;
  if (values[option] !== undefined)
    throw new UsageError(
      `${command.argument?.shape} is given twice, as ${quoted(word)} and with --${option}. Give it once. ${seeHelp(command)}`,
    );
  return { ...values, [option]: word };
}

function parseWords(command: Command, words: readonly string[]) {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {
    help: { type: "boolean", short: "h" },
  };
  for (const [name, { shape }] of Object.entries(command.options ?? {}))
    options[name] = { type: shape === undefined ? "boolean" : "string" };
  const settings = settingNames(command);
  for (const setting of settings) options[nameOfFlag(setting)] = { type: "string" };
  if (settings.length > 0) options["config"] = { type: "string" };
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${faultOf(error as NodeJS.ErrnoException)} ${seeHelp(command)}`);
  }
}

function faultOf({ code, message }: NodeJS.ErrnoException): string {
  const option = /'(?:-\w, )?(-[^ ']*)/.exec(message)?.[1] ?? "";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") return `Unknown option ${quoted(option)}.`;
  if (message.includes("does not take an argument")) return `${option} takes no value.`;
  return `${option} needs a value.`;
}

function refuseMissing(command: Command, values: ParsedArguments["values"], words: readonly string[]): void {
  const wordCount = command.argument === undefined ? 0 : (command.argument.words ?? 1);
  const extra = words[wordCount];
  if (extra !== undefined) throw new UsageError(`Unexpected argument ${quoted(extra)}. ${seeHelp(command)}`);
  if (command.argument !== undefined && command.argument.option === undefined && !words[wordCount - 1])
    throw new UsageError(`'cadastre ${command.name}' needs ${command.argument.shape}. ${seeHelp(command)}`);
  for (const [name, { shape, required }] of Object.entries(command.options ?? {})) {
    if (!required || values[name] !== undefined) continue;
    const needed = command.argument?.option === name ? command.argument.shape : `--${name} ${shape}`;
    throw new UsageError(`'cadastre ${command.name}' needs ${needed}. ${seeHelp(command)}`);
  }
}

const seeHelp = (command: Command) => `See 'cadastre ${command.name} --help'.`;

export function invocationOf(
  command: Command,
  { values, words }: ParsedArguments,
  environment: EnvironmentVariables,
  terminal: Terminal,
): Invocation {
  const value = (option: string) => {
    const given = values[option];
    return typeof given === "string" ? given : undefined;
  };
  const sources = {
    flags: Object.fromEntries(settingNames(command).map((setting) => [setting, value(nameOfFlag(setting))])),
    environment,
    file: value("config") ?? (environment["CADASTRE_CONFIG"] || undefined),
    faults: unknownVariables(environment),
  };
  return {
    terminal,
    argument: words.slice(0, command.argument?.words ?? 1).join(" "),
    value,
    isOn: (option) => values[option] === true,
    settings: () => readSettings(sources),
    sources,
  };
}
