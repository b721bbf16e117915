/** Where a setting's value comes from, settings' former names, and the settings file's syntax. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { logDeprecated } from "../src/announcement.ts";
import { deprecatedSettings } from "../src/kernel/settings.ts";
import { readSettings, settingTable } from "../src/settings.ts";
import { refusedSettings } from "./support/refused-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "cadastre-settings-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(text: string): string {
  const path = join(folder, `settings-${(files += 1)}`);
  writeFileSync(path, text);
  return path;
}

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
    expect(refusedSettings({ environment: { CADASTRE_KEPT_MEGABYTES: "x" } })).toMatch(
      /^CADASTRE_KEPT_MEGABYTES must be/,
    );
    expect(refusedSettings({ file: fileOf("CADASTRE_KEPT_MEGABYTE=8") })).not.toContain("CADASTRE_KEPT_MEGABYTES");
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
      expect(refusedSettings({ file: fileOf(`# one\n${line}\n`) })).toMatch(
        /^Line 2 of .* is not a setting\. Write NAME=VALUE/,
      );
    },
  );

  test("suggests the nearest setting for a misspelled one, and reports every invalid line", () => {
    const message = refusedSettings({
      file: fileOf("CADASTRE_RATELIMIT=1\nCADASTRE_EDITION=hosted\nCADASTRE_AGENT_SLOTS=1\n"),
    });
    expect(message.split("\n")).toEqual([
      expect.stringMatching(/^Line 1 of .* Did you mean CADASTRE_RATE_LIMIT\?$/),
      expect.stringMatching(/^Line 3 of .* is not a setting\./),
    ]);
  });

  test("must exist", () => {
    expect(refusedSettings({ file: join(folder, "none") })).toMatch(/^The settings file .*none can't be read\./);
  });

  test("has its values checked like other sources", () => {
    expect(refusedSettings({ file: fileOf("CADASTRE_RATE_LIMIT=x") })).toMatch(
      /^CADASTRE_RATE_LIMIT must be a whole number/,
    );
  });
});
