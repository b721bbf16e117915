/** `cadastre import` and `cadastre export`: an organization from another server of this API, and out to files that people read. */
import { randomUUID } from "node:crypto";
import type { Tx } from "../database/database.ts";
import { AppError } from "../kernel/errors.ts";
import { readTable, type SettingSources } from "../kernel/settings.ts";
import { counted, fold, quoted } from "../kernel/text.ts";
import { Door } from "../moving/door.ts";
import { exportOrganization } from "../moving/exporting/export.ts";
import { importOrganization } from "../moving/importing/import.ts";
import { Peer } from "../moving/peer.ts";
import { type Gap, listMissingSecrets, Report } from "../moving/report.ts";
import { Missing } from "../moving/wire.ts";
import type { Context } from "../resources/shared/context.ts";
import { operatorContext, type Register } from "../service.ts";
import type { Settings } from "../settings.ts";
import {
  type Command,
  type Invocation,
  jsonOption,
  printRows,
  stopSignal,
  type Terminal,
  UsageError,
} from "./command.ts";
import { commandSettingTable } from "./environment.ts";
import { registerSettings, withRegister } from "./register.ts";

/** It ended, and not everything came. */
const withGaps = 3;
const concurrencyMax = 32;
const tellEveryMs = 2_000;

export const importCommand: Command = {
  name: "import",
  summary: "Bring an organization here from another server of this API",
  argument: { shape: "ORGANIZATION", doc: "The organization there.", option: "organization" },
  settings: [...registerSettings, "edition"],
  options: {
    from: { shape: "URL", doc: "The other server: https://app.terraform.io, say." },
    organization: { shape: "NAME", doc: "The same." },
    token: {
      shape: "TOKEN",
      doc: "A token of one of its owners there. A flag can be seen by everybody on the machine: CADASTRE_IMPORT_TOKEN can't, nor what is in the file that CADASTRE_IMPORT_TOKEN_FILE names.",
    },
    "to-organization": { shape: "NAME", doc: "What it is called here; the same when not given." },
    "dry-run": { doc: "Tell what would and what can't come, and write nothing." },
    report: {
      doc: "Bring nothing: list what imports brought without its secret and is still to be entered, in the organization or in all.",
    },
    concurrency: { shape: "NUMBER", doc: `How many workspaces at once: 1 to ${concurrencyMax}; 8 when not given.` },
    ...jsonOption,
  },
  details: [
    "Brings the organization's settings, reserved tag keys, teams, members (by address), SSH keys (by name), agent pools, projects, workspaces with all settings, tags and bindings, variables, variable sets, access, remote-state consumers, run triggers, data retention policies, the runs that have ended (as history), and every state version with its content, serial, lineage and time. The register may be served meanwhile.",
    "What no server gives away is listed at the end, to be entered: sensitive values (the variables come, empty), SSH keys, tokens of agents. So is every gap, with its reason.",
    "It can be stopped at any moment and started again: it goes on where it was. Repeated, it brings what is new there. What was brought once is never changed again, what was deleted here stays deleted, and a workspace that is used here (a state or a run of its own) gets no more history.",
    "Exit codes: 0 when everything came, 3 when there are gaps, 1 when it failed, 2 when it was written wrongly.",
    "Servers with a certificate of their own making: name its file by NODE_EXTRA_CA_CERTS.",
    "What was entered meanwhile is no longer listed; 'cadastre import --report' prints the rest at any time, also after an import that was stopped.",
    "Example: CADASTRE_IMPORT_TOKEN=… cadastre import acme --from https://app.terraform.io --dry-run",
  ],
  async run(invocation) {
    const { terminal, isOn, settings: read } = invocation;
    const settings = read();
    if (isOn("report")) return printReport(invocation, settings);
    const asked = askedFor(invocation);
    const stop = stopSignal();
    const report = new Report();
    await withRegister(settings, async (register) => {
      const peer = await Peer.open({ ...asked, signal: stop });
      const telling = tellProgress(terminal, report, peer);
      try {
        const context = contextFor(register, settings);
        await importOrganization({ ...asked, context, peer, report, signal: stop });
      } catch (error) {
        throw stop.aborted ? stopped() : error;
      } finally {
        clearInterval(telling);
      }
    });
    if (isOn("json")) terminal.out(JSON.stringify(reportOf(report), null, 2));
    else tell(terminal, report, asked.dry);
    return { exitCode: report.gaps.length > 0 ? withGaps : 0 };
  },
};

async function printReport({ terminal, value, isOn }: Invocation, settings: Settings): Promise<void> {
  const organization = value("to-organization") ?? value("organization");
  const missing = await withRegister(settings, async ({ database, vault }) => {
    if (organization !== undefined) await requireOrganization(database.reader, organization);
    return listMissingSecrets(database.reader, vault, organization);
  });
  const rows = isOn("json")
    ? missing.map((secret) => ({ ...secret }))
    : missing.map((secret) => ({ organization: secret.organization, ...entered(secret) }));
  printRows(terminal, rows, { json: isOn("json"), none: "Nothing is to be entered." });
}

/** Raises `not-found`. */
async function requireOrganization({ db }: Tx, name: string): Promise<void> {
  const found = await db.selectFrom("organizations").select("id").where("nameKey", "=", fold(name)).executeTakeFirst();
  if (found === undefined) throw new AppError("not-found", `There is no organization ${quoted(name)} here.`);
}

interface Asked {
  readonly url: string;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly dry: boolean;
  readonly concurrency: number;
}

/** Raises UsageError. */
function askedFor({ value, isOn, sources }: Invocation): Asked {
  const url = value("from");
  if (url === undefined) throw new UsageError("Name the other server, by --from URL. See 'cadastre import --help'.");
  const from = value("organization");
  if (from === undefined)
    throw new UsageError("Name the organization there: 'cadastre import ORGANIZATION --from URL'.");
  const token = tokenOf(sources, value("token"));
  const concurrency = Number(value("concurrency") ?? 8);
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`--from must be a URL such as https://app.terraform.io; ${quoted(url)} is none.`);
  if (!token) throw new UsageError("Give the token of the other server, by CADASTRE_IMPORT_TOKEN or by --token.");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax)
    throw new UsageError(`--concurrency must be a whole number from 1 to ${concurrencyMax}.`);
  return { url, token, from, to: value("to-organization") ?? from, dry: isOn("dry-run"), concurrency };
}

/** Raises SettingError. */
function tokenOf(sources: SettingSources, token: string | undefined): string | undefined {
  const { importToken } = commandSettingTable;
  // The settings file is the service's, which has none.
  const given = { ...sources, flags: { importToken: token }, file: undefined };
  const read = readTable({ importToken }, given, { help: "cadastre import --help" });
  return read["importToken"] as string | undefined;
}

/** The operator, under the rules of the edition that is served. */
function contextFor({ database, vault }: Pick<Register, "database" | "vault">, settings: Settings): Context {
  const context = operatorContext(database, settings, `cli-${randomUUID()}`);
  return { ...context, vault, options: { ...context.options, edition: settings.edition } };
}

function tellProgress(terminal: Terminal, report: Report, peer: Peer): NodeJS.Timeout {
  return setInterval(() => {
    const kinds = ["project", "workspace", "run", "state-version"];
    const counts = kinds.map((kind) => counted(report.done(`${kind}s`), kind)).join(", ");
    terminal.note(`importing: ${counts} so far; ${counted(peer.requests, "request")} made`);
  }, tellEveryMs);
}

const stopped = () =>
  new AppError(
    "unavailable",
    "Stopped. What was brought stays: import again to go on. 'cadastre import --report' lists what is to be entered so far.",
  );

const reportOf = ({ counts, toEnter, gaps, notes }: Report) => ({ counts, "to-enter": toEnter, gaps, notes });

function tell(terminal: Terminal, report: Report, dry: boolean): void {
  const counts = report.counts.map(({ kind, brought, here, left }) => ({
    kind,
    ...(dry ? { "would-come": brought } : { brought }),
    "here-already": here,
    "not-brought": left,
  }));
  printRows(terminal, counts, { json: false, none: "There is nothing there." });
  const lists = [
    { title: "To be entered here, because no server gives it away:", rows: report.toEnter.map(entered) },
    { title: "Gaps:", rows: report.gaps.map((gap) => ({ ...gap })) },
  ];
  for (const { title, rows } of lists) {
    if (rows.length === 0) continue;
    terminal.out(`\n${title}\n`);
    printRows(terminal, rows, { json: false, none: "" });
  }
  if (report.notes.length > 0) terminal.out("");
  report.notes.forEach(terminal.out);
  if (dry) terminal.out("\nThis was a dry run: nothing was written.");
}

const entered = ({ kind, thing, reason }: Gap) => ({ kind, thing, what: reason });

export const exportCommand: Command = {
  name: "export",
  summary: "Write an organization as files: JSON, and HCL for the official provider",
  argument: { shape: "ORGANIZATION", doc: "Which one.", option: "organization" },
  settings: [...registerSettings, "edition", "publicUrl"],
  options: {
    organization: { shape: "NAME", doc: "The same.", required: true },
    to: { shape: "FOLDER", doc: "Where to write: a folder that is empty, or not there yet.", required: true },
  },
  details: [
    "json/ holds a file for each thing. terraform/ holds resources of the official provider with blocks that import them: 'terraform plan' there (Terraform 1.5 or newer) changes nothing. README.md lists what is in no file: sensitive values and keys, which no plan touches.",
    "The provider's hostname is that of --public-url; it needs HTTPS there. States and runs are not in it: 'cadastre backup' has them.",
    "Example: cadastre export acme --to acme-files --public-url https://cadastre.example",
  ],
  async run({ terminal, value, settings: read }) {
    const settings = read();
    const [organization, folder] = [value("organization") ?? "", value("to") ?? ""];
    const hostname = new URL(settings.publicUrl ?? `https://${settings.listen.host}:${settings.listen.port}`).host;
    const { fileCount, writeOnly, beyond } = await withRegister(settings, async (register) => {
      try {
        const origin = new Door(contextFor(register, settings));
        return await exportOrganization({ origin, organization, folder, hostname });
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        throw new AppError("not-found", `There is no organization ${quoted(organization)}.`);
      }
    });
    terminal.out(`Wrote ${counted(fileCount, "file")} to ${folder}.`);
    tellList(terminal.out, "Write-only values, which are in no file:", writeOnly);
    tellList(terminal.out, "Not known to the provider, and so in json/ alone:", beyond);
  },
};

function tellList(out: (line: string) => void, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  out(`\n${title}\n`);
  for (const line of lines) out(`  ${line}`);
}
