/** Builds the text of `--help` from the tables of commands and settings. */
import { fileVariable, flagOf } from "../kernel/settings.ts";
import { settingTable } from "../settings.ts";
import { version } from "../version.ts";
import type { Command } from "./command.ts";

const widthMax = 100;

export function overview(commands: readonly Command[]): string {
  return [
    `Cadastre ${version}: a self-hosted control plane for Terraform and OpenTofu.`,
    "",
    "Usage: cadastre COMMAND [OPTIONS]",
    "",
    ...summaries(commands),
    "",
    "Run 'cadastre COMMAND --help' for details of a command, and 'cadastre serve' to start a server.",
  ].join("\n");
}

export function groupHelp(group: string, commands: readonly Command[]): string {
  const lines = [`Usage: cadastre ${group} COMMAND [OPTIONS]`, "", ...summaries(commands)];
  return [...lines, "", `Run 'cadastre ${group} COMMAND --help' for details of a command.`].join("\n");
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
  lines.push(...entry("--help", ["Print this help."]), ...settingsHelp(command));
  // Examples are not wrapped, so that they can be copied.
  for (const detail of details)
    lines.push("", ...(detail.startsWith("Example: ") ? [detail] : wrapped(detail, widthMax)));
  return lines.join("\n");
}

function argumentIn({ argument, options = {} }: Command): string | undefined {
  if (argument?.option === undefined || options[argument.option]?.required === true) return argument?.shape;
  return `[${argument.shape}]`;
}

function settingsHelp({ settings = [], ownSettings = {} }: Command): string[] {
  const shown = [...settings.map((name) => [name, settingTable[name]] as const), ...Object.entries(ownSettings)];
  if (shown.length === 0) return [];
  const lines = [
    "",
    "Settings: flags take precedence over environment variables, and those over the settings file.",
    "",
  ];
  lines.push(
    ...entry("--config FILE", [
      "The settings file: lines of NAME=VALUE with the variable names below.",
      "CADASTRE_CONFIG",
    ]),
  );
  for (const [name, { variable, shape, doc, initially, isSecret }] of shown) {
    const initial = initially === undefined ? "" : ` (default: ${initially})`;
    const inFile =
      isSecret === true ? `, or ${fileVariable(variable)} with the path of a file that contains the value` : "";
    lines.push(...entry(`${flagOf(name)} ${shape}`, [doc, `${variable}${initial}${inFile}`]));
  }
  return lines;
}

function summaries(commands: readonly Command[]): string[] {
  const title = (command: Command) => [command.name, argumentIn(command)].filter(Boolean).join(" ");
  const width = Math.max(...commands.map((command) => title(command).length));
  return commands.map((command) => `  ${title(command).padEnd(width)}  ${command.summary}`);
}

function entry(term: string, descriptions: readonly string[]): string[] {
  return [`  ${term}`, ...descriptions.flatMap((text) => wrapped(text, widthMax - 6).map((line) => `      ${line}`))];
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
