/**
 * What a start tells: to a person as text, with the next command to type; to a machine as a line of the log, in which no secret is.
 * Refuses nothing and does nothing.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Logger } from "pino";
import { type DeprecatedSetting, loopbackOf } from "./kernel/settings.ts";
import { consolePath } from "./http/console.ts";
import { firstCommand } from "./http/pages.ts";
import { type FirstAdmin, sqlitePath } from "./service.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface Started {
  readonly settings: Settings;
  /** Where it listens. */
  readonly url: string;
  /** Where this start made one. */
  readonly admin: FirstAdmin | undefined;
}

export function announcement(started: Started): string {
  const { settings, url } = started;
  const address = settings.publicUrl ?? url;
  const lines = ["", `  Cadastre ${version}`, "", `  Address   ${address}`, `  Data      ${dataOf(settings)}`];
  if (settings.console === "on") lines.push(`  Console   ${address}${consolePath}/`);
  if (isUnnamed(settings)) lines.push(`  Others    ${howNamed(address)}`);
  lines.push(...signIn(started), "", ...nextCommands(started, address), "", "  Stop it with Ctrl+C.", "");
  return lines.join("\n");
}

/** It listens for others, and does not know what they call it. */
const isUnnamed = ({ listen: { host }, publicUrl }: Settings) => publicUrl === undefined && loopbackOf(host) !== host;

const howNamed = (address: string) =>
  `Set CADASTRE_PUBLIC_URL to the address by which others reach it: what it hands out begins with ${address}`;

const dataOf = (settings: Settings) => sqlitePath(settings) ?? "PostgreSQL";

function signIn({ settings: { adminPassword, firstTokenFile }, admin }: Started): string[] {
  if (admin === undefined) return [];
  const how =
    adminPassword !== undefined
      ? "with the password in CADASTRE_ADMIN_PASSWORD"
      : firstTokenFile !== undefined
        ? "with the token that is told below"
        : `with the password ${admin.password} (shown this once)`;
  return [`  Sign in   as ${admin.username}, ${how}`];
}

function nextCommands({ settings, admin }: Started, address: string): string[] {
  // Whoever serves with a certificate of their own making has to be told how to trust it, here as everywhere.
  const trust = settings.tlsCert === undefined ? "" : `--cacert ${shellWord(resolve(settings.tlsCert))} `;
  const command = `    ${firstCommand(address, trust)}`;
  if (admin === undefined) {
    const another = `    ${ownCommand()} token create admin`;
    return ["  With a token in TOKEN:", "", command, "", "  To make a token, with the same settings:", "", another];
  }
  if (settings.adminToken !== undefined)
    return ["  The admin's token is the one in CADASTRE_ADMIN_TOKEN. With it in TOKEN:", "", command];
  const { firstTokenFile: file } = settings;
  if (file === undefined) {
    const how = "  The admin's token is shown this once. In a second terminal, paste:";
    return [how, "", `    export TOKEN=${admin.token}`, command];
  }
  const how = `  The admin's token is in ${file}. In a second terminal, as a user who may read it, paste:`;
  return [how, "", `    export TOKEN=$(cat ${shellWord(file)})`, command];
}

/** The same for whoever reads a log: where the first token is, or how to make another, and never what it is. */
export function logStart(logger: Logger, { settings, url, admin }: Started): void {
  const { publicUrl, adminToken, firstTokenFile } = settings;
  logger.info({ version, address: publicUrl ?? url, data: dataOf(settings) }, "serving");
  if (isUnnamed(settings)) logger.warn(howNamed(url));
  if (admin === undefined) return;
  const where =
    adminToken !== undefined
      ? "its token is the one in CADASTRE_ADMIN_TOKEN"
      : firstTokenFile !== undefined
        ? `its token is in ${firstTokenFile}`
        : "it has no token that anybody knows: make one with 'cadastre token create admin'";
  logger.warn(`the first site admin, ${admin.username}, was made; ${where}`);
}

export function logDeprecated(
  logger: { warn(fields: object, message: string): void },
  deprecated: readonly DeprecatedSetting[],
): void {
  for (const { setting, replacement, isIgnored } of deprecated)
    logger.warn(
      { setting, replacement },
      isIgnored ? "deprecated setting ignored: its replacement is also set" : "deprecated setting",
    );
}

/** How this program is called from another terminal: in a checkout by npm, in a package by its path. */
function ownCommand(): string {
  const program = process.argv[1] ?? "";
  if (!program.endsWith(".js")) return "npm run cadastre --";
  const folder = join(dirname(dirname(program)), "bin");
  const whole = join(folder, "cadastre");
  return existsSync(whole) ? shellWord(whole) : `node ${shellWord(join(folder, "cadastre.js"))}`;
}

/** As one word of a shell, whatever is in it. */
const shellWord = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
