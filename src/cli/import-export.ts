/** `cadastre import` and `cadastre export`: an organization from another server with the same API, and to JSON and HCL files. */
import { randomUUID } from "node:crypto";
import type { Tx } from "../database/database.ts";
import { AppError } from "../kernel/errors.ts";
import { readTable, type SettingSources } from "../kernel/settings.ts";
import { counted, fold, quoted } from "../kernel/text.ts";
import { LocalApi } from "../moving/local-api.ts";
import { exportOrganization } from "../moving/exporting/export.ts";
import { importOrganization } from "../moving/importing/import.ts";
import { SourceServer } from "../moving/source-server.ts";
import { type ImportGap, listMissingSecrets, ImportReport } from "../moving/report.ts";
import { MissingResource } from "../moving/wire.ts";
import type { Context } from "../resources/shared/context.ts";
import { operatorContext, type PreparedRegister } from "../service.ts";
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
import { databaseSettings, withDatabase } from "./database.ts";

/** The import finished, but some objects could not be imported. */
const gapsExitCode = 3;
const concurrencyMax = 32;
const progressIntervalMs = 2_000;

export const importCommand: Command = {
  name: "import",
  summary: "Import an organization from HCP Terraform, Terraform Enterprise or another Cadastre",
  argument: { shape: "ORGANIZATION", doc: "Name of the organization on the other server.", option: "organization" },
  settings: [...databaseSettings, "edition"],
  options: {
    from: { shape: "URL", doc: "Address of the other server, such as https://app.terraform.io." },
    organization: { shape: "NAME", doc: "Same as the argument ORGANIZATION." },
    token: {
      shape: "TOKEN",
      doc: "API token of one of its owners on the other server. Other users of this machine can see flags, so prefer CADASTRE_IMPORT_TOKEN or CADASTRE_IMPORT_TOKEN_FILE.",
    },
    "to-organization": { shape: "NAME", doc: "Name of the organization on this server (default: the same name)." },
    "dry-run": { doc: "Show what would be imported and what can't be, and write nothing." },
    report: {
      doc: "Import nothing; list the secrets that you still have to enter after earlier imports, of one organization or of all.",
    },
    concurrency: {
      shape: "NUMBER",
      doc: `Number of workspaces to import in parallel, 1 to ${concurrencyMax} (default: 8).`,
    },
    ...jsonOption,
  },
  details: [
    "Imports the organization's settings, reserved tag keys, teams, members (by email address), SSH keys (by name), agent pools, projects, workspaces with all settings, tags and bindings, variables, variable sets, access, remote-state consumers, run triggers, data retention policies, finished runs (as history), and every state version with its content, serial, lineage and time. Servers can keep running.",
    "No server reveals secrets, so the command ends with a list of those that you have to enter: sensitive values (the variables are imported empty), SSH keys, and agent tokens. It also lists everything that could not be imported, with the reason.",
    "You can stop the import at any time and run it again to continue. A repeated import adds what is new on the other server. It never changes what was imported before, doesn't recreate what was deleted here, and adds no history to a workspace that has a state or a run of its own here.",
    "Exit codes: 0 if everything was imported, 3 if there are gaps, 1 if the import failed, 2 if the arguments are wrong.",
    "If the other server has a self-signed certificate, set NODE_EXTRA_CA_CERTS to its file.",
    "'cadastre import --report' lists the secrets that are still missing at any time, also after an import that was stopped.",
    "Example: CADASTRE_IMPORT_TOKEN=… cadastre import acme --from https://app.terraform.io --dry-run",
  ],
  async run(invocation) {
    const { terminal, isOn, settings: read } = invocation;
    const settings = read();
    if (isOn("report")) return printReport(invocation, settings);
    const options = optionsOf(invocation);
    const stop = stopSignal();
    const report = new ImportReport();
    await withDatabase(settings, async (register) => {
      const source = await SourceServer.open({ ...options, signal: stop });
      const timer = printProgress(terminal, report, source);
      try {
        const context = contextFor(register, settings);
        await importOrganization({ ...options, context, source, report, signal: stop });
      } catch (error) {
        throw stop.aborted ? stopped() : error;
      } finally {
        clearInterval(timer);
      }
    });
    if (isOn("json")) terminal.out(JSON.stringify(reportOf(report), null, 2));
    else printResult(terminal, report, options.dry);
    return { exitCode: report.gaps.length > 0 ? gapsExitCode : 0 };
  },
};

async function printReport({ terminal, value, isOn }: Invocation, settings: Settings): Promise<void> {
  const organization = value("to-organization") ?? value("organization");
  const missing = await withDatabase(settings, async ({ database, vault }) => {
    if (organization !== undefined) await requireOrganization(database.reader, organization);
    return listMissingSecrets(database.reader, vault, organization);
  });
  const rows = isOn("json")
    ? missing.map((secret) => ({ ...secret }))
    : missing.map((secret) => ({ organization: secret.organization, ...secretRow(secret) }));
  printRows(terminal, rows, { json: isOn("json"), empty: "No secrets are missing." });
}

async function requireOrganization({ db }: Tx, name: string): Promise<void> {
  const found = await db
    .selectFrom("openOrganizations")
    .select("id")
    .where("nameKey", "=", fold(name))
    .executeTakeFirst();
  if (found === undefined) throw new AppError("not-found", `There is no organization ${quoted(name)} here.`);
}

interface ImportCommandOptions {
  readonly url: string;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly dry: boolean;
  readonly concurrency: number;
}

function optionsOf({ value, isOn, sources }: Invocation): ImportCommandOptions {
  const url = value("from");
  if (url === undefined) throw new UsageError("'cadastre import' needs --from URL. See 'cadastre import --help'.");
  const from = value("organization");
  if (from === undefined) throw new UsageError("'cadastre import' needs ORGANIZATION. See 'cadastre import --help'.");
  const token = tokenOf(sources, value("token"));
  const concurrency = Number(value("concurrency") ?? 8);
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`--from must be a URL such as https://app.terraform.io; ${quoted(url)} is not.`);
  if (!token)
    throw new UsageError(
      "'cadastre import' needs a token of the other server. Set CADASTRE_IMPORT_TOKEN, or use --token.",
    );
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax)
    throw new UsageError(`--concurrency must be a whole number from 1 to ${concurrencyMax}.`);
  return { url, token, from, to: value("to-organization") ?? from, dry: isOn("dry-run"), concurrency };
}

function tokenOf(sources: SettingSources, token: string | undefined): string | undefined {
  const { importToken } = commandSettingTable;
  // The settings file is for the server, which doesn't have this setting.
  const given = { ...sources, flags: { importToken: token }, file: undefined };
  const read = readTable({ importToken }, given, { help: "cadastre import --help" });
  return read["importToken"] as string | undefined;
}

function contextFor({ database, vault }: Pick<PreparedRegister, "database" | "vault">, settings: Settings): Context {
  const context = operatorContext(database, settings, `cli-${randomUUID()}`);
  return { ...context, vault, options: { ...context.options, edition: settings.edition } };
}

function printProgress(terminal: Terminal, report: ImportReport, source: SourceServer): NodeJS.Timeout {
  return setInterval(() => {
    const kinds = ["project", "workspace", "run", "state-version"];
    const counts = kinds.map((kind) => counted(report.done(`${kind}s`), kind)).join(", ");
    terminal.note(`importing: ${counts}; ${counted(source.requests, "request")}`);
  }, progressIntervalMs);
}

const stopped = () =>
  new AppError(
    "unavailable",
    "Stopped. Run the import again to continue. 'cadastre import --report' lists the secrets that are missing so far.",
  );

const reportOf = ({ counts, missingSecrets, gaps, notes }: ImportReport) => ({
  counts,
  "to-enter": missingSecrets,
  gaps,
  notes,
});

function printResult(terminal: Terminal, report: ImportReport, dry: boolean): void {
  const counts = report.counts.map(({ kind, brought, here, left }) => ({
    kind,
    ...(dry ? { "would-import": brought } : { imported: brought }),
    "already-here": here,
    "not-imported": left,
  }));
  printRows(terminal, counts, { json: false, empty: "The organization is empty." });
  const lists = [
    { title: "Secrets to enter on this server:", rows: report.missingSecrets.map(secretRow) },
    { title: "Not imported:", rows: report.gaps.map((gap) => ({ ...gap })) },
  ];
  for (const { title, rows } of lists) {
    if (rows.length === 0) continue;
    terminal.out(`\n${title}\n`);
    printRows(terminal, rows, { json: false, empty: "" });
  }
  if (report.notes.length > 0) terminal.out("");
  report.notes.forEach(terminal.out);
  if (dry) terminal.out("\nThis was a dry run: nothing was written.");
}

const secretRow = ({ kind, thing, reason }: ImportGap) => ({ kind, thing, what: reason });

export const exportCommand: Command = {
  name: "export",
  summary: "Export an organization as JSON, and as HCL for the official provider",
  argument: { shape: "ORGANIZATION", doc: "Name of the organization.", option: "organization" },
  settings: [...databaseSettings, "edition", "publicUrl"],
  options: {
    organization: { shape: "NAME", doc: "Same as the argument ORGANIZATION.", required: true },
    to: { shape: "FOLDER", doc: "The directory to write to. It must be empty or not exist.", required: true },
  },
  details: [
    "json/ contains one file per object. terraform/ contains resources of the official provider with import blocks: 'terraform plan' there (Terraform 1.5 or newer) shows no changes. README.md lists what is in no file: sensitive values and keys, which the plan leaves alone.",
    "The provider's hostname is that of --public-url, which must use HTTPS. States and runs are not exported; use 'cadastre backup' for them.",
    "Example: cadastre export acme --to acme-files --public-url https://cadastre.example",
  ],
  async run({ terminal, value, settings: read }) {
    const settings = read();
    const [organization, folder] = [value("organization") ?? "", value("to") ?? ""];
    const hostname = new URL(settings.publicUrl ?? `https://${settings.listen.host}:${settings.listen.port}`).host;
    const { fileCount, writeOnly, unsupported } = await withDatabase(settings, async (register) => {
      try {
        const origin = new LocalApi(contextFor(register, settings));
        return await exportOrganization({ origin, organization, folder, hostname });
      } catch (error) {
        if (!(error instanceof MissingResource)) throw error;
        throw new AppError("not-found", `There is no organization ${quoted(organization)}.`);
      }
    });
    terminal.out(`Wrote ${counted(fileCount, "file")} to ${folder}.`);
    printList(terminal.out, "Write-only values, which are in no file:", writeOnly);
    printList(terminal.out, "Only in json/, because the provider doesn't support them:", unsupported);
  },
};

function printList(out: (line: string) => void, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  out(`\n${title}\n`);
  for (const line of lines) out(`  ${line}`);
}
