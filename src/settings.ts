/** Declares every setting once: `--help`, the environment, the settings file and the reference come from this table. */
import { resolve } from "node:path";
import { engineFetchTable, type EngineFetchSettings } from "./agent/fetching/settings.ts";
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
import { type ContentsAddress, parseContents } from "./object-store/address.ts";

export interface Settings extends EngineFetchSettings {
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
  readonly contents: ContentsAddress;
  readonly contentsKeepDays: number;
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
    doc: "The address to listen on. Use 0.0.0.0:PORT for all addresses; port 0 selects a free port.",
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
    doc: "Maximum number of PostgreSQL connections of each server, 3 to 1000; two thirds of them can write at the same time.",
    initially: "12",
    parse: wholeNumber(3, 1000),
  },
  statementTimeoutSeconds: {
    variable: "CADASTRE_STATEMENT_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "Statement timeout in PostgreSQL, 1 to 3600; does not apply to migrations, backups and restores.",
    initially: "30",
    parse: wholeNumber(1, 3600),
  },
  lockTimeoutSeconds: {
    variable: "CADASTRE_LOCK_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "Lock timeout in PostgreSQL: how long a change waits for a locked row, 1 to 3600.",
    initially: "15",
    parse: wholeNumber(1, 3600),
  },
  contents: {
    variable: "CADASTRE_CONTENTS",
    shape: "ADDRESS",
    doc: "Where states, configurations, plans and logs are stored: database, or s3://BUCKET[/PREFIX]?region=REGION&endpoint=URL&path-style=true for an object store. Region and credentials come from where the AWS SDK finds them; endpoint and path-style are for other stores than AWS. 'cadastre contents move' moves existing contents.",
    initially: "database",
    parse: parseContents,
  },
  contentsKeepDays: {
    variable: "CADASTRE_CONTENTS_KEEP_DAYS",
    shape: "NUMBER",
    doc: "How many days deleted objects stay in the object store, 0 to 3650, so that backups without contents can be restored.",
    initially: "7",
    parse: wholeNumber(0, 3650),
  },
  backupDirectory: {
    variable: "CADASTRE_BACKUP_DIRECTORY",
    shape: "DIRECTORY",
    doc: "An existing directory for scheduled backups. There are no scheduled backups when unset.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  backupEveryHours: {
    variable: "CADASTRE_BACKUP_EVERY_HOURS",
    shape: "NUMBER",
    doc: "The interval between scheduled backups, 1 to 720 hours.",
    initially: "24",
    parse: wholeNumber(1, 720),
  },
  backupKeep: {
    variable: "CADASTRE_BACKUP_KEEP",
    shape: "NUMBER",
    doc: "How many scheduled backups to keep, 1 to 10000.",
    initially: "7",
    parse: wholeNumber(1, 10_000),
  },
  publicUrl: {
    variable: "CADASTRE_PUBLIC_URL",
    shape: "URL",
    doc: "The URL by which clients reach the service. Every absolute URL in responses starts with it, such as those for uploading and downloading states. The listening address when unset.",
    initially: undefined,
    parse: parseUrl,
  },
  adminToken: {
    variable: "CADASTRE_ADMIN_TOKEN",
    isSecret: true,
    shape: "TOKEN",
    doc: "The first admin's token, 20 or more printable characters, instead of a generated one. Used on the first start only.",
    initially: undefined,
    parse: parseToken,
  },
  adminPassword: {
    variable: "CADASTRE_ADMIN_PASSWORD",
    isSecret: true,
    shape: "PASSWORD",
    doc: "The first admin's password, 10 to 256 characters, instead of a generated one. Used on the first start only.",
    initially: undefined,
    parse: parsePassword,
  },
  firstTokenFile: {
    variable: "CADASTRE_FIRST_TOKEN_FILE",
    shape: "FILE",
    doc: "A file to which the first start writes the first admin's token instead of printing it. Only the service's user can read it.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  sessionHours: {
    variable: "CADASTRE_SESSION_HOURS",
    shape: "NUMBER",
    doc: "Lifetime of browser sessions in hours, 1 to 8760.",
    initially: "168",
    parse: wholeNumber(1, 8760),
  },
  console: {
    variable: "CADASTRE_CONSOLE",
    shape: "ON|OFF",
    doc: "Whether to serve the web console at /app.",
    initially: "on",
    parse: oneOf(["on", "off"]),
  },
  encryptionKey: {
    variable: "CADASTRE_ENCRYPTION_KEY",
    isSecret: true,
    shape: "KEYS",
    doc: "The key that encrypts secrets, 32 bytes as base64 or hex. Older keys that are only used for decryption can follow after commas. Required with PostgreSQL; stored in a file beside the embedded database when unset.",
    initially: undefined,
    parse: parseKeys,
  },
  edition: {
    variable: "CADASTRE_EDITION",
    shape: "EDITION",
    doc: "self-hosted or hosted: which of the features that differ between the two are available.",
    initially: "self-hosted",
    parse: oneOf(["self-hosted", "hosted"]),
  },
  organizationCreation: {
    variable: "CADASTRE_ORGANIZATION_CREATION",
    shape: "WHO",
    doc: "site-admins or anyone: who can create organizations.",
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
    doc: "Requests per second for each token; 0 for no limit.",
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
    doc: "Comma-separated addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For header is trusted.",
    initially: undefined,
    parse: parseProxies,
  },
  privateAddresses: {
    variable: "CADASTRE_ALLOW_PRIVATE_ADDRESSES",
    shape: "ADDRESSES",
    doc: "Comma-separated addresses or networks (10.0.0.0/8) inside your own network that the service is allowed to call, also without TLS: an identity provider, for example. None when unset.",
    initially: undefined,
    parse: parseProxies,
  },
  metricsToken: {
    variable: "CADASTRE_METRICS_TOKEN",
    isSecret: true,
    shape: "TOKEN",
    doc: "The token for GET /metrics; a site admin's token works too.",
    initially: undefined,
    parse: parseToken,
  },
  smtpUrl: {
    variable: "CADASTRE_SMTP_URL",
    isSecret: true,
    shape: "URL",
    doc: "The mail server, as smtp://USER:PASSWORD@HOST:PORT or smtps://…. The service sends no mail when unset.",
    initially: undefined,
    parse: parseSmtpUrl,
  },
  smtpFrom: {
    variable: "CADASTRE_SMTP_FROM",
    shape: "ADDRESS",
    doc: "The sender of mail, such as Cadastre <cadastre@example.com>. Required with CADASTRE_SMTP_URL.",
    initially: undefined,
    parse: parseMailAddress,
  },
  tlsCert: {
    variable: "CADASTRE_TLS_CERT",
    shape: "FILE",
    doc: "The TLS certificate (PEM) for HTTPS. Requires CADASTRE_TLS_KEY.",
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
    doc: `The log level: ${logLevels.join(", ")}. When unset, warn on a terminal and info elsewhere.`,
    initially: undefined,
    parse: oneOf(logLevels),
  },
  logFormat: {
    variable: "CADASTRE_LOG_FORMAT",
    shape: "FORMAT",
    doc: "The log format: text or json. When unset, text on a terminal and json elsewhere. If set to json, the messages that the start prints are log lines too, without secrets.",
    initially: undefined,
    parse: oneOf(logFormats),
  },
  drainSeconds: {
    variable: "CADASTRE_DRAIN_SECONDS",
    shape: "SECONDS",
    doc: "How long the service keeps serving after a stop signal, 0 to 600, while /readyz returns 503 so that load balancers stop sending requests. CADASTRE_GRACE_SECONDS starts afterwards.",
    initially: "0",
    parse: wholeNumber(0, 600),
  },
  graceSeconds: {
    variable: "CADASTRE_GRACE_SECONDS",
    shape: "SECONDS",
    doc: "How long running requests can take to finish when the service stops.",
    initially: "10",
    parse: wholeNumber(1, 600),
  },
  workers: {
    variable: "CADASTRE_WORKERS",
    shape: "NUMBER",
    doc: "How many runs of workspaces in remote mode the server executes itself at the same time; 0 leaves them to agents. The settings of `cadastre agent` apply to these workers too, from the environment.",
    initially: "0",
    parse: wholeNumber(0, 64),
  },
  engine: {
    variable: "CADASTRE_ENGINE",
    shape: "ENGINE",
    doc: "terraform or tofu: the engine of workspaces that don't set one.",
    initially: "terraform",
    parse: oneOf(["terraform", "tofu"]),
  },
  engines: {
    variable: "CADASTRE_ENGINES",
    shape: "DIRECTORY",
    doc: "The directory in which workers find engines, and into which they fetch missing ones: terraform/VERSION/terraform and tofu/VERSION/tofu.",
    initially: "data/engines",
    parse: (text) => resolve(text),
  },
  ...engineFetchTable,
  sandbox: {
    variable: "CADASTRE_SANDBOX",
    shape: "KIND",
    doc: "bubblewrap, user or none: the sandbox for untrusted code. When unset, the strongest one that works; none must be set explicitly.",
    initially: undefined,
    parse: oneOf(["bubblewrap", "user", "none"]),
  },
  plansForks: {
    variable: "CADASTRE_PLAN_FORKS",
    shape: "BOOLEAN",
    doc: "true or false: whether pull requests from forks get speculative plans. If true, everybody who can fork a repository can run code with the workspace's variables.",
    initially: "false",
    parse: (text) => oneOf(["true", "false"])(text) === "true",
  },
  knownHosts: {
    variable: "CADASTRE_SSH_KNOWN_HOSTS",
    shape: "FILE",
    doc: "SSH host keys in known_hosts format, for fetching code and for runs. Any host key is accepted when unset.",
    initially: undefined,
    parse: (text) => resolve(text),
  },
  planTimeoutSeconds: {
    variable: "CADASTRE_PLAN_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "The plan timeout. A plan that takes longer is interrupted and fails.",
    initially: "7200",
    parse: wholeNumber(60, 604_800),
  },
  applyTimeoutSeconds: {
    variable: "CADASTRE_APPLY_TIMEOUT_SECONDS",
    shape: "SECONDS",
    doc: "The apply timeout. An apply that takes longer is interrupted and fails.",
    initially: "86400",
    parse: wholeNumber(60, 604_800),
  },
};

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
