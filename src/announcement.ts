/** Announces that the service has started: on a terminal with the next command, or in the log without secrets. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Logger } from "pino";
import { type DeprecatedSetting, loopbackOf } from "./kernel/settings.ts";
import { consolePath } from "./http/console.ts";
import { firstCommand } from "./http/pages.ts";
import { type FirstAdmin, sqlitePath } from "./service.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface StartedService {
  readonly settings: Settings;
  readonly url: string;
  readonly admin: FirstAdmin | undefined;
}

export function announcement(started: StartedService): string {
  const { settings, url } = started;
  const address = settings.publicUrl ?? url;
  const lines = ["", `  Cadastre ${version}`, "", `  Address   ${address}`, `  Data      ${dataOf(settings)}`];
  if (settings.console === "on") lines.push(`  Console   ${address}${consolePath}/`);
  if (lacksPublicUrl(settings)) lines.push(`  Warning   ${publicUrlHint(address)}`);
  lines.push(...signIn(started), "", ...nextCommands(started, address), "", "  Stop it with Ctrl+C.", "");
  return lines.join("\n");
}

/** Other machines can connect, but there is no URL to give them. */
const lacksPublicUrl = ({ listen: { host }, publicUrl }: Settings) =>
  publicUrl === undefined && loopbackOf(host) !== host;

const publicUrlHint = (address: string) =>
  `Set CADASTRE_PUBLIC_URL to the address by which others reach it: absolute URLs start with ${address}`;

const dataOf = (settings: Settings) => sqlitePath(settings) ?? "PostgreSQL";

function signIn({ settings: { adminPassword, firstTokenFile }, admin }: StartedService): string[] {
  if (admin === undefined) return [];
  const how =
    adminPassword !== undefined
      ? "with the password in CADASTRE_ADMIN_PASSWORD"
      : firstTokenFile !== undefined
        ? "with the token below"
        : `with the password ${admin.password} (shown this once)`;
  return [`  Sign in   as ${admin.username}, ${how}`];
}

function nextCommands({ settings, admin }: StartedService, address: string): string[] {
  // A client needs a self-signed certificate explicitly.
  const trust = settings.tlsCert === undefined ? "" : `--cacert ${shellWord(resolve(settings.tlsCert))} `;
  const command = `    ${firstCommand(address, trust)}`;
  if (admin === undefined) {
    const another = `    ${ownCommand()} token create admin`;
    return ["  With a token in TOKEN:", "", command, "", "  To create a token, with the same settings:", "", another];
  }
  if (settings.adminToken !== undefined)
    return ["  The admin's token is the one in CADASTRE_ADMIN_TOKEN. With it in TOKEN:", "", command];
  const { firstTokenFile: file } = settings;
  if (file === undefined) {
    const how = "  The admin's token is shown this once. In a second terminal, paste:";
    return [how, "", `    export TOKEN=${admin.token}`, command];
  }
  const how = `  The admin's token is in ${file}. In a second terminal, as a user who can read it, paste:`;
  return [how, "", `    export TOKEN=$(cat ${shellWord(file)})`, command];
}

export function logStart(logger: Logger, { settings, url, admin }: StartedService): void {
  const { publicUrl, adminToken, firstTokenFile } = settings;
  logger.info({ version, address: publicUrl ?? url, data: dataOf(settings) }, "serving");
  if (lacksPublicUrl(settings)) logger.warn({ hint: publicUrlHint(url) }, "public URL not set");
  if (admin === undefined) return;
  const adminTokenHint =
    adminToken !== undefined
      ? "in CADASTRE_ADMIN_TOKEN"
      : firstTokenFile !== undefined
        ? `in ${firstTokenFile}`
        : "not shown: create one with 'cadastre token create admin'";
  logger.warn({ username: admin.username, hint: `token: ${adminTokenHint}` }, "first site admin created");
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

/** Through npm in a checkout, by path in a package. */
function ownCommand(): string {
  const program = process.argv[1] ?? "";
  if (!program.endsWith(".js")) return "npm run cadastre --";
  const folder = join(dirname(dirname(program)), "bin");
  const executable = join(folder, "cadastre");
  return existsSync(executable) ? shellWord(executable) : `node ${shellWord(join(folder, "cadastre.js"))}`;
}

const shellWord = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
