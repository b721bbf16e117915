/** Every setting's valid and invalid forms, where a value comes from, and the settings file's syntax. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { agentSettingTable } from "../src/agent/settings.ts";
import { commandSettingTable } from "../src/cli/environment.ts";
import { logDeprecated } from "../src/announcement.ts";
import { deprecatedSettings, flagOf, type Setting, SettingError } from "../src/kernel/settings.ts";
import { readSettings, type Settings, settingTable } from "../src/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "cadastre-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(text: string): string {
  const path = join(folder, `settings-${(files += 1)}`);
  writeFileSync(path, text);
  return path;
}

type Name = keyof Settings;
const key = Buffer.from("0123456789abcdef0123456789abcdef");
const otherKey = Buffer.from("fedcba9876543210fedcba9876543210");
const word = /^must be one of /;

interface Forms {
  readonly valid: readonly (readonly [text: string, value: unknown])[];
  readonly invalid: readonly string[];
  /** The error message after the variable's name. */
  readonly sentence: RegExp;
}

/** The type requires an entry for each setting. Settings that come in pairs have their own tests. */
const forms: { readonly [N in Exclude<Name, "tlsCert" | "tlsKey" | "smtpUrl" | "smtpFrom">]: Forms } = {
  listen: {
    valid: [
      ["127.0.0.1:8080", { host: "127.0.0.1", port: 8080 }],
      ["localhost:0", { host: "localhost", port: 0 }],
      ["[::1]:65535", { host: "::1", port: 65535 }],
    ],
    invalid: ["8080", ":8080", "localhost", "localhost:", "localhost:65536", "localhost:x", "::1:80", "a:1:2", ""],
    sentence: /^must be HOST:PORT/,
  },
  database: {
    valid: ["sqlite:data/a.db", "postgres://ada:secret@db.example/cadastre", "postgresql://db/x"].map((text) => [
      text,
      text,
    ]),
    invalid: ["data/a.db", "sqlite:", "postgres://", "mysql://db/x", ""],
    sentence: /^must be sqlite:PATH or postgres:/,
  },
  publicUrl: {
    valid: [
      ["https://cadastre.example", "https://cadastre.example"],
      ["http://cadastre.example:8080/register/", "http://cadastre.example:8080/register"],
    ],
    invalid: ["cadastre.example", "ftp://cadastre.example", "https://a.example?x=1", "https://a.example#x", ""],
    sentence: /^must be an http or https URL/,
  },
  adminToken: tokens(),
  adminPassword: {
    valid: same("ten letters", "x".repeat(256)),
    invalid: ["too short", "x".repeat(257), ""],
    sentence: /^must have 10 to 256 characters/,
  },
  firstTokenFile: { valid: [["/run/first-token", "/run/first-token"]], invalid: [], sentence: word },
  sessionHours: wholeNumbers(1, 8760),
  privateAddresses: networks(),
  metricsToken: tokens(),
  encryptionKey: {
    valid: [
      [key.toString("hex"), [key]],
      [key.toString("hex").toUpperCase(), [key]],
      [key.toString("base64"), [key]],
      [key.toString("base64url"), [key]],
      [`${otherKey.toString("hex")},${key.toString("base64")}`, [otherKey, key]],
      [`${otherKey.toString("hex")} , ${key.toString("hex")}`, [otherKey, key]],
    ],
    invalid: [
      "short",
      key.toString("hex").slice(1),
      `${key.toString("hex")}0`,
      key.toString("base64").slice(2),
      "",
      `${key.toString("hex")},`,
      `${key.toString("hex")},${key.toString("base64")}`,
    ],
    sentence: /^must (be 32 bytes as 64 hex digits or as base64|not name a key twice)/,
  },
  console: { valid: same("on", "off"), invalid: ["yes", "On", ""], sentence: word },
  edition: { valid: same("self-hosted", "hosted"), invalid: ["cloud", "Hosted", ""], sentence: word },
  organizationCreation: { valid: same("site-admins", "anyone"), invalid: ["nobody", ""], sentence: word },
  globalRemoteStateDefault: {
    valid: [
      ["true", true],
      ["false", false],
    ],
    invalid: ["yes", "1", "TRUE", ""],
    sentence: word,
  },
  logLevel: {
    valid: same("fatal", "error", "warn", "info", "debug", "trace", "silent"),
    invalid: ["verbose", "INFO", ""],
    sentence: word,
  },
  logFormat: { valid: same("text", "json"), invalid: ["JSON", "pretty", ""], sentence: word },
  rateLimit: wholeNumbers(0, 1_000_000),
  cacheMb: wholeNumbers(0, 65_536),
  drainSeconds: wholeNumbers(0, 600),
  databaseConnections: wholeNumbers(3, 1000),
  statementTimeoutSeconds: wholeNumbers(1, 3600),
  lockTimeoutSeconds: wholeNumbers(1, 3600),
  backupDirectory: { valid: [["/backups", "/backups"]], invalid: [], sentence: word },
  backupEveryHours: wholeNumbers(1, 720),
  backupKeep: wholeNumbers(1, 10_000),
  graceSeconds: wholeNumbers(1, 600),
  workers: wholeNumbers(0, 64),
  engine: { valid: same("terraform", "tofu"), invalid: ["Terraform", "opentofu", ""], sentence: word },
  engines: { valid: [["/opt/engines", "/opt/engines"]], invalid: [], sentence: word },
  sandbox: { valid: same("bubblewrap", "user", "none"), invalid: ["docker", ""], sentence: word },
  plansForks: {
    valid: [
      ["true", true],
      ["false", false],
    ],
    invalid: ["yes", "1", ""],
    sentence: word,
  },
  knownHosts: { valid: [["/etc/known_hosts", "/etc/known_hosts"]], invalid: [], sentence: word },
  planTimeoutSeconds: wholeNumbers(60, 604_800),
  applyTimeoutSeconds: wholeNumbers(60, 604_800),
  trustedProxies: networks(),
};

function networks(): Forms {
  return {
    valid: [
      ["10.0.0.1", ["10.0.0.1"]],
      ["10.0.0.0/8, fd00::/8,::1", ["10.0.0.0/8", "fd00::/8", "::1"]],
    ],
    invalid: ["proxy.example", "10.0.0.0/33", "fd00::/129", "10.0.0.0/8/8", "10.0.0.1,", "10.0.0.0/x", ""],
    sentence: /^must be addresses or networks separated by commas/,
  };
}

function same(...texts: string[]): [string, string][] {
  return texts.map((text) => [text, text]);
}

function tokens(): Forms {
  return {
    valid: same("x".repeat(20), "x".repeat(512), "!~aB3-_./+=0123456789"),
    invalid: ["x".repeat(19), "x".repeat(513), `${"x".repeat(20)} y`, `${"x".repeat(20)}é`, ""],
    sentence: /^must be 20 to 512 printable characters/,
  };
}

function wholeNumbers(min: number, max: number): Forms {
  return {
    valid: [
      [String(min), min],
      [String(max), max],
    ],
    invalid: [String(min - 1), String(max + 1), "1.5", "1e2", "many", "-1", ""],
    sentence: new RegExp(`^must be a whole number from ${min} to ${max}`),
  };
}

describe.each(Object.entries(forms))("%s", (name, { valid, invalid, sentence }) => {
  test.each(valid)("accepts '%s'", (text, value) => {
    expect(readSettings({ flags: { [name]: text } })[name as Name]).toEqual(value);
  });

  test.each(invalid)("rejects '%s' with a message that names the setting", (text) => {
    const { variable } = settingTable[name as Name];
    const error = refusal({ flags: { [name]: text } });
    expect(error.startsWith(`${variable} `)).toBe(true);
    expect(error.slice(variable.length + 1)).toMatch(sentence);
  });
});

function refusal(sources: Parameters<typeof readSettings>[0]): string {
  try {
    readSettings(sources);
  } catch (error) {
    expect(error).toBeInstanceOf(SettingError);
    return (error as SettingError).message;
  }
  throw new Error("the settings were accepted");
}

test("without any source, the server listens on the loopback address with an embedded database", () => {
  expect(readSettings({})).toEqual({
    listen: { host: "127.0.0.1", port: 8080 },
    database: "sqlite:data/cadastre.db",
    console: "on",
    publicUrl: undefined,
    adminToken: undefined,
    adminPassword: undefined,
    firstTokenFile: undefined,
    sessionHours: 168,
    privateAddresses: [],
    databaseConnections: 12,
    statementTimeoutSeconds: 30,
    lockTimeoutSeconds: 15,
    backupDirectory: undefined,
    backupEveryHours: 24,
    backupKeep: 7,
    encryptionKey: undefined,
    edition: "self-hosted",
    organizationCreation: "site-admins",
    globalRemoteStateDefault: false,
    rateLimit: 0,
    cacheMb: 64,
    trustedProxies: [],
    metricsToken: undefined,
    smtpUrl: undefined,
    smtpFrom: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    logLevel: undefined,
    logFormat: undefined,
    drainSeconds: 0,
    graceSeconds: 10,
    workers: 0,
    engine: "terraform",
    engines: resolve("data/engines"),
    sandbox: undefined,
    plansForks: false,
    knownHosts: undefined,
    planTimeoutSeconds: 7200,
    applyTimeoutSeconds: 86_400,
  });
});

test("the mail server and the sender address must be set together", () => {
  const read = (smtpUrl: string | undefined, smtpFrom: string | undefined) =>
    readSettings({ environment: { CADASTRE_SMTP_URL: smtpUrl, CADASTRE_SMTP_FROM: smtpFrom } });
  const [url, from] = ["smtp://ada:secret@mail.example:587", "Cadastre <cadastre@mail.example>"];
  expect(read(url, from)).toMatchObject({ smtpUrl: url, smtpFrom: from });
  expect(read("smtps://mail.example", "cadastre@mail.example")).toMatchObject({ smtpUrl: "smtps://mail.example" });
  for (const [one, other] of [
    [url, undefined],
    [undefined, from],
  ])
    expect(() => read(one, other)).toThrow(
      "CADASTRE_SMTP_URL and CADASTRE_SMTP_FROM go together: set both or neither.",
    );
  for (const wrong of ["mail.example", "https://ada:hush@mail.example", "smtp://"])
    expect(() => read(wrong, from)).toThrow(/^CADASTRE_SMTP_URL must be smtp:(?!.*hush)/);
  for (const wrong of ["nobody", "a@b c@d", "Ada <ada>", "a@b\nBcc: c@d"])
    expect(() => read(url, wrong)).toThrow("CADASTRE_SMTP_FROM must be a mail address");
});

test("the TLS files must be set together", () => {
  const both = { CADASTRE_TLS_CERT: "cert.pem", CADASTRE_TLS_KEY: "key.pem" };
  expect(readSettings({ environment: both })).toMatchObject({ tlsCert: "cert.pem", tlsKey: "key.pem" });
  for (const variable of Object.keys(both)) {
    expect(refusal({ environment: { [variable]: "x.pem" } })).toBe(
      "CADASTRE_TLS_CERT and CADASTRE_TLS_KEY go together: set both or neither.",
    );
  }
});

/** A table of settings, generated from the code. */
function referenceTable(title: string, table: Readonly<Record<string, Setting<unknown>>>): string {
  const rows = Object.entries(table).map(([name, { variable, initially, doc, isSecret }]) => {
    const file = isSecret === true ? ` \`${variable}_FILE\` names a file with the value.` : "";
    return `| \`${variable}\` | \`${flagOf(name)}\` | ${initially === undefined ? "" : `\`${initially}\` `}| ${doc.replaceAll("|", "\\|")}${file} |`;
  });
  return [`## ${title}`, "", "| Setting | Flag | Default | Meaning |", "|---|---|---|---|", ...rows, ""].join("\n");
}

test("the settings reference lists every setting, its flag and its default", async () => {
  const head = `# Settings

Every setting is an environment variable, a flag, or a line of a settings file ([how](../operations.md#settings)). A test writes this page from the code.
`;
  const text = [
    head,
    referenceTable("Server", settingTable),
    referenceTable("Agents and workers", agentSettingTable),
    referenceTable("Commands over the API", commandSettingTable),
  ].join("\n");
  await expect(text).toMatchFileSnapshot("../docs/reference/settings.md");
});

test("the operator's guide names the file variant of every secret", () => {
  const guide = readFileSync(new URL("../docs/operations.md", import.meta.url), "utf8");
  const files = [settingTable, agentSettingTable, commandSettingTable].flatMap((table) =>
    Object.values<Setting<unknown>>(table).flatMap(({ variable, isSecret }) =>
      isSecret ? [`\`${variable}_FILE\``] : [],
    ),
  );
  expect(files.length).toBeGreaterThan(8);
  expect(files.filter((name) => !guide.includes(name))).toEqual([]);
});

test("flags are named after the settings", () => {
  expect(flagOf("tlsCert")).toBe("--tls-cert");
  expect(flagOf("organizationCreation")).toBe("--organization-creation");
});

test("a flag wins over the environment, the environment over the file, the file over the default", () => {
  const flags = { rateLimit: "1" };
  const environment = { CADASTRE_RATE_LIMIT: "2" };
  const file = fileOf("CADASTRE_RATE_LIMIT=3");
  expect(readSettings({ flags, environment, file }).rateLimit).toBe(1);
  expect(readSettings({ environment, file }).rateLimit).toBe(2);
  expect(readSettings({ file }).rateLimit).toBe(3);
  expect(readSettings({}).rateLimit).toBe(0);
});

describe("a renamed setting", () => {
  const former = { CADASTRE_KEPT_MEGABYTES: "8" };
  const current = { CADASTRE_CACHE_MB: "16" };
  const used = { setting: "CADASTRE_KEPT_MEGABYTES", replacement: "CADASTRE_CACHE_MB", isIgnored: false };

  test("is accepted under its former name, from every source", () => {
    const file = fileOf("CADASTRE_KEPT_MEGABYTES=8");
    for (const sources of [{ environment: former }, { file }, { flags: { keptMegabytes: "8" } }]) {
      expect(readSettings(sources).cacheMb).toBe(8);
      expect(deprecatedSettings(settingTable, sources)).toEqual([used]);
    }
  });

  test("uses the value of the new name if both are set, whatever their sources", () => {
    for (const sources of [
      { environment: { ...former, ...current } },
      { environment: former, file: fileOf("CADASTRE_CACHE_MB=16") },
      { environment: current, flags: { keptMegabytes: "8" } },
    ]) {
      expect(readSettings(sources).cacheMb).toBe(16);
      expect(deprecatedSettings(settingTable, sources)).toEqual([{ ...used, isIgnored: true }]);
    }
  });

  test("is reported, rejected and suggested by the correct name", () => {
    const unset = { CADASTRE_KEPT_MEGABYTES: "" };
    for (const environment of [current, unset]) expect(deprecatedSettings(settingTable, { environment })).toEqual([]);
    expect(refusal({ environment: { CADASTRE_KEPT_MEGABYTES: "x" } })).toMatch(/^CADASTRE_KEPT_MEGABYTES must be/);
    expect(refusal({ file: fileOf("CADASTRE_KEPT_MEGABYTE=8") })).not.toContain("CADASTRE_KEPT_MEGABYTES");
  });

  test("is reported in the log at the start, with the name to use instead", () => {
    const lines: unknown[] = [];
    const logger = { warn: (fields: object, message: string) => void lines.push([fields, message]) };
    logDeprecated(logger, deprecatedSettings(settingTable, { environment: former }));
    logDeprecated(logger, deprecatedSettings(settingTable, { environment: { ...former, ...current } }));
    const { isIgnored: _, ...fields } = used;
    const messages = ["deprecated setting", "deprecated setting ignored: its replacement is also set"];
    expect(lines).toEqual(messages.map((message) => [fields, message]));
  });
});

test("an empty variable is an absent one", () => {
  const sources = { environment: { CADASTRE_RATE_LIMIT: "" }, file: fileOf("CADASTRE_EDITION=") };
  expect(readSettings(sources)).toMatchObject({ rateLimit: 0, edition: "self-hosted" });
});

describe("the settings file", () => {
  test("can have comments, empty lines, spaces, quotes and both kinds of line ends", () => {
    const text = `# Ours\r\n\r\n  # indented\n CADASTRE_RATE_LIMIT = 5 \r\nCADASTRE_EDITION="hosted"\nCADASTRE_LOG_LEVEL='warn'\nCADASTRE_PUBLIC_URL=https://a.example/x=y`;
    expect(readSettings({ file: fileOf(text) })).toMatchObject({
      rateLimit: 5,
      edition: "hosted",
      logLevel: "warn",
      publicUrl: "https://a.example/x=y",
    });
  });

  test.each(["CADASTRE_RATE_LIMIT", "CADASTRE_TYPO=1", "rate-limit=1", "=1", "export CADASTRE_RATE_LIMIT=1"])(
    "rejects the line '%s' with its number",
    (line) => {
      expect(refusal({ file: fileOf(`# one\n${line}\n`) })).toMatch(
        /^Line 2 of .* is not a setting\. Write NAME=VALUE/,
      );
    },
  );

  test("suggests the nearest setting for a misspelled one, and reports every invalid line", () => {
    const message = refusal({
      file: fileOf("CADASTRE_RATELIMIT=1\nCADASTRE_EDITION=hosted\nCADASTRE_AGENT_SLOTS=1\n"),
    });
    expect(message.split("\n")).toEqual([
      expect.stringMatching(/^Line 1 of .* Did you mean CADASTRE_RATE_LIMIT\?$/),
      expect.stringMatching(/^Line 3 of .* is not a setting\./),
    ]);
  });

  test("must exist", () => {
    expect(refusal({ file: join(folder, "none") })).toMatch(/^The settings file .*none can't be read\./);
  });

  test("has its values checked like other sources", () => {
    expect(refusal({ file: fileOf("CADASTRE_RATE_LIMIT=x") })).toMatch(/^CADASTRE_RATE_LIMIT must be a whole number/);
  });
});
