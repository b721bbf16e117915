/**
 * Every setting, parsed and documented once: `--help`, the environment, the settings file and the documents all come from
 * this table. An unusable setting ends the start with a sentence.
 */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { passwordLengthMax, passwordLengthMin } from "./kernel/passwords.ts";
import {
  oneOf,
  parseToken,
  parseUrl,
  readTable,
  type Setting,
  SettingError,
  type SettingSources,
  wholeNumber,
} from "./kernel/settings.ts";

export interface Settings {
  readonly listen: { readonly host: string; readonly port: number };
  readonly database: string;
  readonly publicUrl: string | undefined;
  readonly adminToken: string | undefined;
  readonly adminPassword: string | undefined;
  readonly sessionHours: number;
  readonly encryptionKey: Uint8Array | undefined;
  readonly edition: "self-hosted" | "hosted";
  readonly organizationCreation: "site-admins" | "anyone";
  readonly globalRemoteStateDefault: boolean;
  readonly rateLimit: number;
  readonly keptMegabytes: number;
  readonly console: "on" | "off";
  readonly trustedProxies: readonly string[];
  readonly metricsToken: string | undefined;
  readonly privateAddresses: readonly string[];
  readonly smtpUrl: string | undefined;
  readonly smtpFrom: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly logLevel: (typeof logLevels)[number];
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
    shape: "ADDRESS",
    doc: "sqlite:PATH for the embedded database, or postgres://USER:PASSWORD@HOST/NAME.",
    initially: "sqlite:data/cadastre.db",
    parse: parseDatabase,
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
    shape: "TOKEN",
    doc: "The first admin's token, 20 or more printable characters, instead of a made one. Looked at on the first start only.",
    initially: undefined,
    parse: parseToken,
  },
  adminPassword: {
    variable: "CADASTRE_ADMIN_PASSWORD",
    shape: "PASSWORD",
    doc: "The first admin's password, 10 to 256 characters, instead of a made one. Looked at on the first start only.",
    initially: undefined,
    parse: parsePassword,
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
    shape: "KEY",
    doc: "32 bytes as base64 or hex, under which secrets are encrypted. Required with PostgreSQL; kept in a file beside the embedded database when unset.",
    initially: undefined,
    parse: parseKey,
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
  keptMegabytes: {
    variable: "CADASTRE_KEPT_MEGABYTES",
    shape: "NUMBER",
    doc: "Memory for answers that are kept to be given again while they are right; 0 keeps none.",
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
    shape: "TOKEN",
    doc: "Opens GET /metrics; a site admin's token does so too.",
    initially: undefined,
    parse: parseToken,
  },
  smtpUrl: {
    variable: "CADASTRE_SMTP_URL",
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
    doc: `How much to log: ${logLevels.join(", ")}.`,
    initially: "info",
    parse: oneOf(logLevels),
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
  const settings = readTable(settingTable, sources, "cadastre serve --help") as unknown as Settings;
  return checked({
    ...settings,
    trustedProxies: settings.trustedProxies ?? [],
    privateAddresses: settings.privateAddresses ?? [],
  });
}

function checked(settings: Settings): Settings {
  if ((settings.tlsCert === undefined) !== (settings.tlsKey === undefined)) {
    throw new SettingError("CADASTRE_TLS_CERT and CADASTRE_TLS_KEY go together: set both or neither.");
  }
  if ((settings.smtpUrl === undefined) !== (settings.smtpFrom === undefined)) {
    throw new SettingError("CADASTRE_SMTP_URL and CADASTRE_SMTP_FROM go together: set both or neither.");
  }
  return settings;
}

// --- parsing

function parseListen(text: string): Settings["listen"] {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host === "" || port === undefined || Number(port) > 65_535)
    throw new SettingError("must be HOST:PORT, such as 127.0.0.1:8080.");
  return { host, port: Number(port) };
}

function parseDatabase(text: string): string {
  if (/^sqlite:.+/.test(text) || /^postgres(ql)?:\/\/.+/.test(text)) return text;
  throw new SettingError("must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME.");
}

function parseSmtpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ["smtp:", "smtps:"].includes(url.protocol) && url.hostname !== "") return text;
  // What is wrong with it may stand beside a password.
  throw new SettingError("must be smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT.");
}

function parseMailAddress(text: string): string {
  if (/^([^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text)) return text;
  throw new SettingError("must be a mail address, such as cadastre@example.com or Cadastre <cadastre@example.com>.");
}

function parsePassword(text: string): string {
  const length = Array.from(text).length;
  if (length < passwordLengthMin || length > passwordLengthMax)
    throw new SettingError(`must have ${passwordLengthMin} to ${passwordLengthMax} characters.`);
  return text;
}

function parseKey(text: string): Uint8Array {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, "base64")
      : undefined;
  if (bytes?.length !== 32)
    throw new SettingError(
      "must be 32 bytes as 64 hex digits or as base64, such as the output of 'openssl rand -hex 32'.",
    );
  return bytes;
}

function parseProxies(text: string): string[] {
  const addresses = text.split(",").map((part) => part.trim());
  for (const address of addresses) {
    const [host = "", bits, ...rest] = address.split("/");
    const version = isIP(host);
    const bitsMax = version === 4 ? 32 : 128;
    if (version === 0 || rest.length > 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= bitsMax))) {
      throw new SettingError(`must be addresses or networks separated by commas; '${address}' is neither.`);
    }
  }
  return addresses;
}
