/**
 * Every setting, parsed and documented once: `--help`, the environment, the settings file and the documents all come from
 * this table. An unusable setting ends the start with a sentence.
 */
import { resolve } from "node:path";
import {
  oneOf,
  parseDatabase,
  parseKeys,
  parseListen,
  parseMailAddress,
  parsePassword,
  parseProxies,
  parseSmtpUrl,
  parseToken,
  parseUrl,
  readTable,
  type Setting,
  type SettingSources,
  wholeNumber,
} from "./kernel/settings.ts";

export interface Settings {
  readonly listen: { readonly host: string; readonly port: number };
  readonly database: string;
  readonly publicUrl: string | undefined;
  readonly adminToken: string | undefined;
  readonly adminPassword: string | undefined;
  readonly firstTokenFile: string | undefined;
  readonly sessionHours: number;
  readonly databaseConnections: number;
  readonly statementTimeoutSeconds: number;
  readonly lockTimeoutSeconds: number;
  readonly backupDirectory: string | undefined;
  readonly backupEveryHours: number;
  readonly backupKeep: number;
  readonly encryptionKey: readonly [Uint8Array, ...Uint8Array[]] | undefined;
  readonly edition: "self-hosted" | "hosted";
  readonly organizationCreation: "site-admins" | "anyone";
  readonly globalRemoteStateDefault: boolean;
  readonly rateLimit: number;
  readonly cacheMb: number;
  readonly console: "on" | "off";
  readonly trustedProxies: readonly string[];
  readonly metricsToken: string | undefined;
  readonly privateAddresses: readonly string[];
  readonly smtpUrl: string | undefined;
  readonly smtpFrom: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly logLevel: (typeof logLevels)[number] | undefined;
  readonly logFormat: (typeof logFormats)[number] | undefined;
  readonly drainSeconds: number;
  readonly graceSeconds: number;
  readonly workers: number;
  readonly engine: "terraform" | "tofu";
  readonly engines: string;
  readonly sandbox: "bubblewrap" | "user" | "none" | undefined;
  readonly plansForks: boolean;
  readonly knownHosts: string | undefined;
  readonly planTimeoutSeconds: number;
  readonly applyTimeoutSeconds: number;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const logFormats = ["text", "json"] as const;

export const settingTable: { readonly [Name in keyof Settings]: Setting<NonNullable<Settings[Name]>> } = {
  listen: {
    variable: "CADASTRE_LISTEN",
    shape: "HOST:PORT",
    doc: "Where to serve. Use 0.0.0.0:PORT for all addresses; port 0 takes a free one.",
    initially: "127.0.0.1:8080",
    parse: parseListen,
  },
  database: {
    variable: "CADASTRE_DATABASE",
    isSecret: true,
    shape: "ADDRESS",
    doc: "sqlite:PATH for the embedded database, or postgres://USER:PASSWORD@HOST/NAME.",
    initially: "sqlite:data/cadastre.db",
    parse: parseDatabase,
  },
  databaseConnections: {
    variable: "CADASTRE_DATABASE_CONNECTIONS",
    shape: "NUMBER",
    doc: "How many connections to PostgreSQL each server may have open, 3 to 1000; two thirds of them may write at the same time.",
    initially: "12",
    parse: wholeNumber(3, 1000),
  },
  statementTimeoutSeconds: {
    variable: "CADASTRE_STATEMENT_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "After how long PostgreSQL gives a statement up, 1 to 3600; not those of migrations, backups and restores.",
    initially: "30",
    parse: wholeNumber(1, 3600),
  },
  lockTimeoutSeconds: {
    variable: "CADASTRE_LOCK_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "How long a change waits on PostgreSQL for a row that others are changing, 1 to 3600.",
    initially: "15",
    parse: wholeNumber(1, 3600),
  },
  backupDirectory: {
    variable: "CADASTRE_BACKUP_DIRECTORY",
    shape: "DIRECTORY",
    doc: "Where backups are written on a schedule; it has to be there. None are when unset.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  backupEveryHours: {
    variable: "CADASTRE_BACKUP_EVERY_HOURS",
    shape: "NUMBER",
    doc: "How old the last of these backups may become, 1 to 720 hours.",
    initially: "24",
    parse: wholeNumber(1, 720),
  },
  backupKeep: {
    variable: "CADASTRE_BACKUP_KEEP",
    shape: "NUMBER",
    doc: "How many of these backups are kept, 1 to 10000.",
    initially: "7",
    parse: wholeNumber(1, 10_000),
  },
  publicUrl: {
    variable: "CADASTRE_PUBLIC_URL",
    shape: "URL",
    doc: "Where clients reach the service; shown at the start, and the beginning of every absolute URL that it hands out: those that states are sent to and fetched from. The listening address when unset.",
    initially: undefined,
    parse: parseUrl,
  },
  adminToken: {
    variable: "CADASTRE_ADMIN_TOKEN",
    isSecret: true,
    shape: "TOKEN",
    doc: "The first admin's token, 20 or more printable characters, instead of a made one. Looked at on the first start only.",
    initially: undefined,
    parse: parseToken,
  },
  adminPassword: {
    variable: "CADASTRE_ADMIN_PASSWORD",
    isSecret: true,
    shape: "PASSWORD",
    doc: "The first admin's password, 10 to 256 characters, instead of a made one. Looked at on the first start only.",
    initially: undefined,
    parse: parsePassword,
  },
  firstTokenFile: {
    variable: "CADASTRE_FIRST_TOKEN_FILE",
    shape: "FILE",
    doc: "Where the first start writes the first admin's token, for the service's user alone to read, instead of printing it.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  sessionHours: {
    variable: "CADASTRE_SESSION_HOURS",
    shape: "NUMBER",
    doc: "How long somebody who signs in in a browser stays signed in, 1 to 8760.",
    initially: "168",
    parse: wholeNumber(1, 8760),
  },
  console: {
    variable: "CADASTRE_CONSOLE",
    shape: "ON|OFF",
    doc: "Whether the web console is served at /app.",
    initially: "on",
    parse: oneOf(["on", "off"]),
  },
  encryptionKey: {
    variable: "CADASTRE_ENCRYPTION_KEY",
    isSecret: true,
    shape: "KEYS",
    doc: "32 bytes as base64 or hex, under which secrets are encrypted; older keys, with which they can still be read, may follow after commas. Required with PostgreSQL; kept in a file beside the embedded database when unset.",
    initially: undefined,
    parse: parseKeys,
  },
  edition: {
    variable: "CADASTRE_EDITION",
    shape: "EDITION",
    doc: "self-hosted or hosted: which of the features that differ between the two are served.",
    initially: "self-hosted",
    parse: oneOf(["self-hosted", "hosted"]),
  },
  organizationCreation: {
    variable: "CADASTRE_ORGANIZATION_CREATION",
    shape: "WHO",
    doc: "site-admins or anyone: who may create organizations.",
    initially: "site-admins",
    parse: oneOf(["site-admins", "anyone"]),
  },
  globalRemoteStateDefault: {
    variable: "CADASTRE_GLOBAL_REMOTE_STATE_DEFAULT",
    shape: "BOOLEAN",
    doc: "true or false: whether a workspace created without global-remote-state shares its state with its whole organization. Self-hosted edition only.",
    initially: "false",
    parse: (text) => oneOf(["true", "false"])(text) === "true",
  },
  rateLimit: {
    variable: "CADASTRE_RATE_LIMIT",
    shape: "NUMBER",
    doc: "Requests a second that each token may make; 0 for no limit.",
    initially: "0",
    parse: wholeNumber(0, 1_000_000),
  },
  cacheMb: {
    variable: "CADASTRE_CACHE_MB",
    formerly: "CADASTRE_KEPT_MEGABYTES",
    shape: "NUMBER",
    doc: "Memory for the response cache, in MiB; 0 disables the cache.",
    initially: "64",
    parse: wholeNumber(0, 65_536),
  },
  trustedProxies: {
    variable: "CADASTRE_TRUSTED_PROXIES",
    shape: "ADDRESSES",
    doc: "Comma-separated addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For is believed.",
    initially: undefined,
    parse: parseProxies,
  },
  privateAddresses: {
    variable: "CADASTRE_ALLOW_PRIVATE_ADDRESSES",
    shape: "ADDRESSES",
    doc: "Comma-separated addresses or networks (10.0.0.0/8) inside your own network that the service may call, also without TLS: identity providers, for one. None when unset.",
    initially: undefined,
    parse: parseProxies,
  },
  metricsToken: {
    variable: "CADASTRE_METRICS_TOKEN",
    isSecret: true,
    shape: "TOKEN",
    doc: "Opens GET /metrics; a site admin's token does so too.",
    initially: undefined,
    parse: parseToken,
  },
  smtpUrl: {
    variable: "CADASTRE_SMTP_URL",
    isSecret: true,
    shape: "URL",
    doc: "The mail server, as smtp://USER:PASSWORD@HOST:PORT or smtps://…; without it no mail is sent.",
    initially: undefined,
    parse: parseSmtpUrl,
  },
  smtpFrom: {
    variable: "CADASTRE_SMTP_FROM",
    shape: "ADDRESS",
    doc: "Who the mail is from, such as Cadastre <cadastre@example.com>. Goes with CADASTRE_SMTP_URL.",
    initially: undefined,
    parse: parseMailAddress,
  },
  tlsCert: {
    variable: "CADASTRE_TLS_CERT",
    shape: "FILE",
    doc: "The certificate (PEM) to serve HTTPS with; needs the key too.",
    initially: undefined,
    parse: (text) => text,
  },
  tlsKey: {
    variable: "CADASTRE_TLS_KEY",
    shape: "FILE",
    doc: "The certificate's private key (PEM).",
    initially: undefined,
    parse: (text) => text,
  },
  logLevel: {
    variable: "CADASTRE_LOG_LEVEL",
    shape: "LEVEL",
    doc: `How much to log: ${logLevels.join(", ")}. On a terminal warn when unset, elsewhere info.`,
    initially: undefined,
    parse: oneOf(logLevels),
  },
  logFormat: {
    variable: "CADASTRE_LOG_FORMAT",
    shape: "FORMAT",
    doc: "text or json: how to log. On a terminal text when unset, elsewhere json. Asked for here, json also holds what the start prints for people, without secrets.",
    initially: undefined,
    parse: oneOf(logFormats),
  },
  drainSeconds: {
    variable: "CADASTRE_DRAIN_SECONDS",
    shape: "SECONDS",
    doc: "How long the service goes on serving when it is told to stop, while /readyz says 503 so that balancers send nobody here any more; 0 to 600. The time to finish requests follows.",
    initially: "0",
    parse: wholeNumber(0, 600),
  },
  graceSeconds: {
    variable: "CADASTRE_GRACE_SECONDS",
    shape: "SECONDS",
    doc: "How long running requests may take to finish when the service is told to stop.",
    initially: "10",
    parse: wholeNumber(1, 600),
  },
  workers: {
    variable: "CADASTRE_WORKERS",
    shape: "NUMBER",
    doc: "How many runs of workspaces in remote mode the server executes itself at the same time; 0 leaves them to agents. What `cadastre agent --help` names works for them too, by the environment.",
    initially: "0",
    parse: wholeNumber(0, 64),
  },
  engine: {
    variable: "CADASTRE_ENGINE",
    shape: "ENGINE",
    doc: "terraform or tofu: what runs workspaces that name no engine of their own.",
    initially: "terraform",
    parse: oneOf(["terraform", "tofu"]),
  },
  engines: {
    variable: "CADASTRE_ENGINES",
    shape: "DIRECTORY",
    doc: "Where the workers find engines, side by side: terraform/VERSION/terraform and tofu/VERSION/tofu.",
    initially: "data/engines",
    parse: (text) => resolve(text),
  },
  sandbox: {
    variable: "CADASTRE_SANDBOX",
    shape: "KIND",
    doc: "bubblewrap, user or none: what keeps other people's code from this machine. The strongest that works when unset; none only when it is asked for here.",
    initially: undefined,
    parse: oneOf(["bubblewrap", "user", "none"]),
  },
  plansForks: {
    variable: "CADASTRE_PLAN_FORKS",
    shape: "BOOLEAN",
    doc: "true or false: whether pull requests from forks get speculative plans. Whoever can fork a repository then runs code with the workspace's variables.",
    initially: "false",
    parse: (text) => oneOf(["true", "false"])(text) === "true",
  },
  knownHosts: {
    variable: "CADASTRE_SSH_KNOWN_HOSTS",
    shape: "FILE",
    doc: "SSH host keys, in the form of known_hosts, that code is fetched from and that runs know. Whatever key a host shows is taken when unset.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  planTimeoutSeconds: {
    variable: "CADASTRE_PLAN_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "How long a plan may take before it is interrupted and has failed.",
    initially: "7200",
    parse: wholeNumber(60, 604_800),
  },
  applyTimeoutSeconds: {
    variable: "CADASTRE_APPLY_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "The same for an apply.",
    initially: "86400",
    parse: wholeNumber(60, 604_800),
  },
};

/** A flag wins over the environment, the environment over the file, the file over the default. Raises SettingError. */
export function readSettings(sources: SettingSources): Settings {
  const pairs = [
    ["tlsCert", "tlsKey"],
    ["smtpUrl", "smtpFrom"],
  ] as const satisfies readonly (readonly [keyof Settings, keyof Settings])[];
  const settings = readTable(settingTable, sources, { help: "cadastre serve --help", pairs }) as unknown as Settings;
  return {
    ...settings,
    trustedProxies: settings.trustedProxies ?? [],
    privateAddresses: settings.privateAddresses ?? [],
  };
}
