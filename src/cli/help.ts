/** What `--help` prints, made from the tables of commands and settings. */
import { fileVariable, flagOf } from "../kernel/settings.ts";
import { settingTable } from "../settings.ts";
import { version } from "../version.ts";
import type { Command } from "./command.ts";

const widthMax = 100;

export function overview(commands: readonly Command[]): string {
  return [
    `Cadastre ${version}: a register of infrastructure workspaces, and of who may do what to them.`,
    "",
    "Usage: cadastre COMMAND [OPTIONS]",
    "",
    ...summaries(commands),
    "",
    "'cadastre COMMAND --help' tells how each is used. Start with 'cadastre serve'.",
  ].join("\n");
}

export function groupHelp(group: string, commands: readonly Command[]): string {
  const lines = [`Usage: cadastre ${group} COMMAND [OPTIONS]`, "", ...summaries(commands)];
  return [...lines, "", `'cadastre ${group} COMMAND --help' tells how each is used.`].join("\n");
}

export function commandHelp(command: Command): string {
  const { name, summary, argument, details = [] } = command;
  const options = Object.entries(command.options ?? {});
  const needed = options
    .filter(([option, { required }]) => required && option !== argument?.option)
    .map(([option, { shape }]) => `--${option} ${shape}`);
  const usage = ["cadastre", name, argumentIn(command), ...needed, "[OPTIONS]"].filter((word) => word !== undefined);
  const lines = [`${summary}.`, "", `Usage: ${usage.join(" ")}`, ""];
  if (argument !== undefined) lines.push(...entry(argument.shape, [argument.doc]));
  for (const [option, { shape, doc }] of options)
    lines.push(...entry(shape === undefined ? `--${option}` : `--${option} ${shape}`, [doc]));
  lines.push(...entry("--help", ["Print this."]), ...settingsHelp(command));
  // An example stays on one line, however long: it is there to be copied.
  for (const detail of details)
    lines.push("", ...(detail.startsWith("Example: ") ? [detail] : wrapped(detail, widthMax)));
  return lines.join("\n");
}

/** In brackets where it may be left out. */
function argumentIn({ argument, options = {} }: Command): string | undefined {
  if (argument?.option === undefined || options[argument.option]?.required === true) return argument?.shape;
  return `[${argument.shape}]`;
}

function settingsHelp({ settings = [], ownSettings = {} }: Command): string[] {
  const shown = [...settings.map((name) => [name, settingTable[name]] as const), ...Object.entries(ownSettings)];
  if (shown.length === 0) return [];
  const lines = ["", "Settings: a flag wins over the environment, the environment over the settings file.", ""];
  lines.push(
    ...entry("--config FILE", ["The settings file: lines of NAME=VALUE, by the names below.", "CADASTRE_CONFIG"]),
  );
  for (const [name, { variable, shape, doc, initially, isSecret }] of shown) {
    const initial = initially === undefined ? "" : `, ${initially} when unset`;
    const inFile = isSecret === true ? `; or ${fileVariable(variable)}, which names a file that holds it` : "";
    lines.push(...entry(`${flagOf(name)} ${shape}`, [doc, `${variable}${initial}${inFile}`]));
  }
  return lines;
}

function summaries(commands: readonly Command[]): string[] {
  const title = (command: Command) => [command.name, argumentIn(command)].filter(Boolean).join(" ");
  const width = Math.max(...commands.map((command) => title(command).length));
  return commands.map((command) => `  ${title(command).padEnd(width)}  ${command.summary}`);
}

/** A term, and under it, indented, what it means. */
function entry(term: string, meanings: readonly string[]): string[] {
  return [`  ${term}`, ...meanings.flatMap((text) => wrapped(text, widthMax - 6).map((line) => `      ${line}`))];
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
