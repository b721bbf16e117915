/** `cadastre serve --check`: finds out whether the server would start. It must not change anything. */
import { accessSync, constants, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { X509Certificate } from "node:crypto";
import { agentSettingTable } from "../agent/settings.ts";
import { AppError } from "../kernel/errors.ts";
import { SettingError } from "../kernel/settings.ts";
import { counted } from "../kernel/text.ts";
import { verifyMailServer } from "../outgoing/mail.ts";
import { OutgoingError } from "../outgoing/request.ts";
import { describeGitSandbox } from "../resources/vcs/fetching/git-sandbox.ts";
import { chooseSandbox, isRoot } from "../sandbox/choose.ts";
import { claimUids } from "../sandbox/uids.ts";
import { encryptionKeys, existingKeys, inspectRegister, keysLocation, sqlitePath } from "../service.ts";
import type { Settings } from "../settings.ts";
import { readPair } from "../tls.ts";
import { requireEngine } from "../workers.ts";

interface CheckedPart {
  readonly title: string;
  /** The part is skipped if one of these is invalid. */
  readonly needs: readonly (keyof Settings)[];
  /** Undefined if there is nothing to check. Throws what a start would throw. */
  readonly check: (settings: Settings) => Promise<string | undefined>;
}

export interface CheckResult {
  readonly passed: readonly string[];
  readonly faults: readonly string[];
}

export async function checkService(read: () => Settings): Promise<CheckResult> {
  const { settings, invalid, faults } = readAll(read);
  const results = await Promise.all(
    parts
      .filter(({ needs }) => !needs.some((name) => invalid.includes(name)))
      .map(async ({ title, check }) => {
        try {
          const note = await check(settings);
          return { passed: note === undefined ? [] : [`${title}: ${note}`], faults: [] };
        } catch (error) {
          return { passed: [], faults: faultsOf(error) };
        }
      }),
  );
  return {
    passed: [...(faults.length === 0 ? ["settings: valid"] : []), ...results.flatMap(({ passed }) => passed)],
    faults: [...new Set([...faults, ...results.flatMap((result) => result.faults)])],
  };
}

/** Replaces invalid settings by their defaults, so that the other parts can be checked. */
function readAll(read: () => Settings) {
  try {
    return { settings: read(), invalid: [], faults: [] };
  } catch (error) {
    if (!(error instanceof SettingError) || error.rest === undefined) throw error;
    const { settings, invalid } = error.rest;
    return { settings: settings as unknown as Settings, invalid, faults: error.faults };
  }
}

function faultsOf(error: unknown): readonly string[] {
  if (error instanceof SettingError) return error.faults;
  if (error instanceof AppError) return error.faults.map(({ detail }) => detail);
  if (error instanceof OutgoingError) return [error.message];
  throw error;
}

const parts: readonly CheckedPart[] = [
  { title: "database", needs: ["database"], check: checkDatabase },
  { title: "key", needs: ["database", "encryptionKey"], check: checkKey },
  { title: "certificate", needs: ["tlsCert", "tlsKey"], check: checkCertificate },
  { title: "mail", needs: ["smtpUrl", "smtpFrom"], check: checkMail },
  { title: "engines", needs: ["workers", "engines"], check: checkEngines },
  { title: "sandbox", needs: ["workers", "sandbox"], check: checkSandbox },
  { title: "backups", needs: ["backupDirectory"], check: checkBackups },
];

async function checkDatabase(settings: Settings): Promise<string> {
  const path = sqlitePath(settings);
  if (path !== undefined && !existsSync(path)) {
    refuseUnwritable(existingParent(path), `The database ${path} can't be created`, "CADASTRE_DATABASE");
    return "the first start creates it";
  }
  const pending = await inspectRegister(settings);
  if (pending === undefined) return "reachable; the first start creates the tables";
  return pending.length === 0 ? "up to date" : `the next start applies ${counted(pending.length, "migration")}`;
}

async function checkKey(settings: Settings): Promise<string> {
  const path = sqlitePath(settings);
  const isNew = path !== undefined && !existsSync(path);
  if (isNew && existingKeys(settings) === undefined) return "the first start creates one";
  const keys = encryptionKeys(settings);
  if (!isNew) await inspectRegister(settings, keys);
  return `in ${keysLocation(settings)}`;
}

async function checkCertificate({ tlsCert, tlsKey }: Settings): Promise<string | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const { validFromDate, validToDate } = new X509Certificate(readPair({ tlsCert, tlsKey }).cert);
  const until = validToDate.toISOString();
  if (validToDate < new Date())
    throw new SettingError(`The certificate in ${tlsCert} expired at ${until}. Replace it.`);
  if (validFromDate > new Date())
    throw new SettingError(
      `The certificate in ${tlsCert} is not valid before ${validFromDate.toISOString()}. Check the certificate and this machine's clock.`,
    );
  return `valid until ${until}`;
}

async function checkMail({ smtpUrl: url, smtpFrom: from }: Settings): Promise<string | undefined> {
  if (url === undefined || from === undefined) return undefined;
  await verifyMailServer({ url, from });
  return "the mail server accepts mail from this server";
}

async function checkEngines(settings: Settings): Promise<string | undefined> {
  if (settings.workers === 0) return undefined;
  await requireEngine(settings);
  return `in ${settings.engines}`;
}

/** Required with workers or if the setting names one; otherwise fetching from git uses what is available. */
async function checkSandbox({ workers, sandbox }: Settings): Promise<string> {
  if (workers === 0 && sandbox === undefined) return describeGitSandbox(sandbox);
  const agentDirectory = await mkdtemp(join(tmpdir(), "cadastre-check-"));
  const uids = isRoot() ? await claimUids(Number(agentSettingTable.sandboxUid.initially), 1) : undefined;
  try {
    const limits = { jobTmpMegabytes: 16, jobFileMegabytes: 16, jobOpenFiles: 1024 };
    const mounts = { mirror: undefined, ca: undefined, knownHosts: undefined };
    return (await chooseSandbox({ agentDirectory, sandbox, ...limits }, mounts, uids?.list)).kind;
  } finally {
    uids?.release();
    await rm(agentDirectory, { recursive: true, force: true });
  }
}

async function checkBackups({ backupDirectory }: Settings): Promise<string | undefined> {
  if (backupDirectory === undefined) return undefined;
  refuseUnwritable(backupDirectory, "Backups can't be written", "CADASTRE_BACKUP_DIRECTORY");
  return `in ${backupDirectory}`;
}

function existingParent(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : existingParent(folder);
}

function refuseUnwritable(folder: string, what: string, variable: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SettingError(`${what} (${folder}: ${code}). Check ${variable} and the permissions of the directory.`);
  }
}
