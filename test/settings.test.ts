/** Every setting's valid and invalid forms. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { agentSettingTable } from "../src/agent/settings.ts";
import { commandSettingTable } from "../src/cli/environment.ts";
import { flagOf, type Setting } from "../src/kernel/settings.ts";
import { readSettings, type Settings, settingTable } from "../src/settings.ts";
import { refusedSettings } from "./support/refused-settings.ts";

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
  contents: {
    valid: [
      ["database", "database"],
      ["s3://states", { bucket: "states", prefix: "", region: undefined, endpoint: undefined, isPathStyle: false }],
      [
        "s3://states/team/one/?region=eu-central-1&endpoint=https://s3.example/&path-style=true",
        {
          bucket: "states",
          prefix: "team/one",
          region: "eu-central-1",
          endpoint: "https://s3.example",
          isPathStyle: true,
        },
      ],
    ],
    invalid: [
      "",
      "s3://",
      "s3:///prefix",
      "http://s3.example/states",
      "s3://key:secret@states",
      "s3://a b",
      "s3://states?acl=public",
      "s3://states?region=a&region=b",
      "s3://states?endpoint=s3.example",
      "s3://states?endpoint=https://key:secret@s3.example",
      "s3://states?path-style=yes",
      "s3://states/../others",
      "s3://states/a//b",
      "s3://states#x",
    ],
    sentence: /^(must|names|has) .*(s3:\/\/|parameter|prefix|endpoint|path-style|once)/,
  },
  contentsKeepDays: {
    valid: [
      ["0", 0],
      ["7", 7],
      ["3650", 3650],
    ],
    invalid: ["-1", "3651", "1.5", ""],
    sentence: /^must be a whole number from 0 to 3650/,
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
  globalRemoteStateDefault: booleans(),
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
  engineMirror: {
    valid: [
      ["off", "off"],
      ["https://mirror.example/engines/", "https://mirror.example/engines"],
      ["http://10.0.0.1:8000", "http://10.0.0.1:8000"],
    ],
    invalid: ["on", "ftp://mirror.example", "https://ada:secret@mirror.example", "https://mirror.example/?a=b"],
    sentence: /must be off or an https URL/,
  },
  engineMirrorInsecure: booleans(),
  engineKeys: { valid: [["/etc/engine-keys.asc", "/etc/engine-keys.asc"]], invalid: [], sentence: word },
  engineCacheMb: wholeNumbers(1, 16_777_216),
  sandbox: { valid: same("bubblewrap", "user", "none"), invalid: ["docker", ""], sentence: word },
  plansForks: booleans(),
  knownHosts: { valid: [["/etc/known_hosts", "/etc/known_hosts"]], invalid: [], sentence: word },
  planTimeoutSeconds: wholeNumbers(60, 604_800),
  applyTimeoutSeconds: wholeNumbers(60, 604_800),
  trustedProxies: networks(),
};

function booleans(): Forms {
  const valid = [["true", true] as const, ["false", false] as const];
  return { valid, invalid: ["yes", "1", "TRUE", ""], sentence: word };
}

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
    const error = refusedSettings({ flags: { [name]: text } });
    expect(error.startsWith(`${variable} `)).toBe(true);
    expect(error.slice(variable.length + 1)).toMatch(sentence);
  });
});

test("without any source, the server listens on the loopback address with an embedded database", () => {
  expect(readSettings({})).toEqual({
    listen: { host: "127.0.0.1", port: 8080 },
    database: "sqlite:data/cadastre.db",
    contents: "database",
    contentsKeepDays: 7,
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
    engineMirror: undefined,
    engineMirrorInsecure: false,
    engineKeys: undefined,
    engineCacheMb: 4096,
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
    expect(refusedSettings({ environment: { [variable]: "x.pem" } })).toBe(
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
