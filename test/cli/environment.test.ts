/** Unknown `CADASTRE_` variables, and secrets in files. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentSettingTable } from "../../src/agent/settings.ts";
import { variablesOf } from "../../src/kernel/settings.ts";
import { settingTable } from "../../src/settings.ts";
import { account, cadastre, encryptionKey, startService, stopService, useFolder } from "./support.ts";
import { itInGate } from "../support/engine-independent.ts";

const folder = useFolder();
const database = `sqlite:${join(folder, "cadastre.db")}`;

describe("an unknown variable", () => {
  test.each([
    ["serve", "CADASTRE_DATABSE", "CADASTRE_DATABASE"],
    ["serve", "CADASTRE_ENCRYPTION_KEYS", "CADASTRE_ENCRYPTION_KEY"],
    ["serve", "CADASTRE_RATELIMIT", "CADASTRE_RATE_LIMIT"],
    ["serve", "CADASTRE_PORT", "CADASTRE_LISTEN"],
    ["serve", "CADASTRE_METRIC_TOKEN_FILE", "CADASTRE_METRICS_TOKEN_FILE"],
    ["agent", "CADASTRE_AGENT_TOKNE", "CADASTRE_AGENT_TOKEN"],
    ["backup out.backup", "CADASTRE_DATABASE_URL", "CADASTRE_DATABASE"],
    ["token list", "CADASTRE_ADDRES", "CADASTRE_ADDRESS"],
  ])("%s: %s refuses the start and names %s", async (command, name, meant) => {
    const { code, err } = await cadastre(command.split(" "), { [name]: "8080" });
    expect(code).toBe(1);
    expect(err.split("\n")).toContain(`${name} is not a setting. Did you mean ${meant}? Correct it, or unset it.`);
  });

  test("does not affect 'version' and help", async () => {
    expect((await cadastre(["version"], { CADASTRE_TYPO: "x" })).code).toBe(0);
    expect((await cadastre(["serve", "--help"], { CADASTRE_TYPO: "x" })).code).toBe(0);
  });

  test("is reported together with every other fault", async () => {
    const wrong = {
      CADASTRE_TYPO: "x",
      CADASTRE_RATE_LIMIT: "many",
      CADASTRE_TLS_CERT: "a.pem",
      CADASTRE_LISTEN: "8080",
    };
    const { code, err } = await cadastre(["serve"], wrong);
    expect(code).toBe(1);
    expect(err.split("\n")).toEqual([
      expect.stringMatching(/^CADASTRE_TYPO is not a setting\./),
      expect.stringMatching(/^CADASTRE_LISTEN must be HOST:PORT/),
      expect.stringMatching(/^CADASTRE_RATE_LIMIT must be a whole number/),
      "CADASTRE_TLS_CERT and CADASTRE_TLS_KEY go together: set both or neither.",
    ]);
  });
});

test("variables of Kubernetes, the agent and the tests are accepted", async () => {
  expect((await cadastre(["migrate"], { CADASTRE_DATABASE: database })).code).toBe(0);
  const injected = {
    CADASTRE_SERVICE_HOST: "10.0.0.1",
    CADASTRE_SERVICE_PORT: "8080",
    CADASTRE_SERVICE_PORT_HTTP: "8080",
    CADASTRE_PORT: "tcp://10.0.0.1:8080",
    CADASTRE_PORT_8080_TCP: "tcp://10.0.0.1:8080",
    CADASTRE_PORT_8080_TCP_PROTO: "tcp",
    CADASTRE_PORT_8080_TCP_PORT: "8080",
    CADASTRE_PORT_8080_TCP_ADDR: "10.0.0.1",
    CADASTRE_METRICS_SERVICE_HOST: "10.0.0.2",
    CADASTRE_METRICS_PORT: "tcp://10.0.0.2:9090",
    CADASTRE_METRICS_PORT_9090_TCP_ADDR: "10.0.0.2",
  };
  const agents = Object.fromEntries(variablesOf(agentSettingTable).map((name) => [name, ""]));
  const own = {
    ...agents,
    CADASTRE_AGENT_SLOTS: "2",
    CADASTRE_AGENT_VERSION: "0.2.0",
    CADASTRE_TEST_SEED: "1",
    CADASTRE_EMPTY: "",
  };
  const { code, err } = await cadastre(["user", "list"], { CADASTRE_DATABASE: database, ...injected, ...own });
  expect({ code, err }).toEqual({ code: 0, err: "" });
});

describe("a secret in a file", () => {
  const secret = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };

  test("is possible for every secret setting", () => {
    const secrets = [settingTable, agentSettingTable]
      .flatMap((table) => Object.values(table))
      .filter(({ variable, shape }) => /TOKEN|PASSWORD|KEY|SECRET/.test(variable) || /PASSWORD@/.test(shape))
      .map(({ variable }) => variable)
      // These already name a file.
      .filter(
        (variable) => !["CADASTRE_TLS_KEY", "CADASTRE_FIRST_TOKEN_FILE", "CADASTRE_ENGINE_KEYS"].includes(variable),
      );
    const files = [settingTable, agentSettingTable].flatMap(variablesOf).filter((name) => name.endsWith("_FILE"));
    expect(files).toEqual(expect.arrayContaining(secrets.map((variable) => `${variable}_FILE`)));
    expect(files).toEqual(expect.arrayContaining(["CADASTRE_DATABASE_FILE", "CADASTRE_SMTP_URL_FILE"]));
  });

  itInGate("starts the service, also if the settings file names it", async () => {
    const token = "a-token-that-is-in-a-file";
    const config = secret(
      "settings",
      `CADASTRE_DATABASE_FILE=${secret("address", `sqlite:${join(folder, "served.db")}\n`)}\n`,
    );
    const service = await startService({
      CADASTRE_CONFIG: config,
      CADASTRE_ADMIN_TOKEN_FILE: secret("token", `${token}\r\n`),
      CADASTRE_ENCRYPTION_KEY_FILE: secret("key", `${encryptionKey}\n${"ab".repeat(32)}\n`),
      CADASTRE_LOG_LEVEL: "fatal",
    });
    expect((await account(service.url, token)).status).toBe(200);
    await stopService(service);
  });

  test.each([
    [
      { CADASTRE_METRICS_TOKEN: "x".repeat(20), CADASTRE_METRICS_TOKEN_FILE: "token" },
      "CADASTRE_METRICS_TOKEN and CADASTRE_METRICS_TOKEN_FILE are both set: set one of them.",
    ],
    [
      { CADASTRE_METRICS_TOKEN_FILE: "/nowhere/token" },
      "CADASTRE_METRICS_TOKEN_FILE names the file /nowhere/token, which can't be read (ENOENT). Check the path and its permissions.",
    ],
    [
      { CADASTRE_METRICS_TOKEN_FILE: "/" },
      "CADASTRE_METRICS_TOKEN_FILE names the file /, which can't be read (EISDIR). Check the path and its permissions.",
    ],
    [
      { CADASTRE_METRICS_TOKEN_FILE: "/dev/null" },
      "CADASTRE_METRICS_TOKEN_FILE names the file /dev/null, which is empty. Put the value in it.",
    ],
  ])("%j is refused with a sentence", async (environment, sentence) => {
    expect(await cadastre(["serve"], environment)).toMatchObject({ code: 1, err: sentence });
  });

  test("can be named by a flag, which takes precedence over the environment", async () => {
    const path = secret("short", "short\n");
    const words = ["serve", "--metrics-token-file", path];
    expect(await cadastre(words, { CADASTRE_METRICS_TOKEN: "x".repeat(20) })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^CADASTRE_METRICS_TOKEN must be 20 to 512/),
    });
  });
});
