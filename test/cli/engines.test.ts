/** `cadastre engine …` against a mirror with the tests' own key. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineCache } from "../../src/agent/fetching/cache.ts";
import { archiveNameOf, EngineMirror, mirrorCa } from "../support/engine-mirror.ts";
import { addFakeEngine } from "../support/engines.ts";
import { cadastre, useFolder } from "./support.ts";

const folder = useFolder();
const engines = join(folder, "engines");
let mirror: EngineMirror;
let environment: Record<string, string>;

beforeAll(async () => {
  mirror = await EngineMirror.start();
  environment = {
    CADASTRE_ENGINES: engines,
    CADASTRE_ENGINE_MIRROR: mirror.url,
    CADASTRE_ENGINE_KEYS: mirror.writeKeys(join(folder, "keys.asc")),
    CADASTRE_AGENT_CA: mirrorCa,
  };
  await mirror.publish({ product: "terraform", version: "1.9.5" });
  await mirror.publish({ product: "tofu", version: "1.10.6" });
});
afterAll(() => mirror.close());

const engine = (words: string, more: Record<string, string> = {}) =>
  cadastre(["engine", ...words.split(" ")], { ...environment, ...more });

describe("cadastre engine", () => {
  test("fetches, lists and removes", async () => {
    expect(await engine("list")).toMatchObject({ code: 0, out: "There are no engines." });
    expect((await engine("fetch terraform 1.9.5")).out).toBe(
      `Fetched Terraform 1.9.5 from ${mirror.url}/terraform/1.9.5/${archiveNameOf({ product: "terraform", version: "1.9.5" })}, signed with the key ${mirror.key.fingerprint}.`,
    );
    expect((await engine("fetch tofu 1.10.6")).code).toBe(0);
    expect(await engine("fetch terraform 1.9.5")).toMatchObject({ code: 0, out: "Terraform 1.9.5 is already there." });
    expect(existsSync(join(engines, "tofu/1.10.6/tofu"))).toBe(true);
    addFakeEngine(engines, "terraform", "1.5.7");
    expect(JSON.parse((await engine("list --json")).out)).toEqual([
      { engine: "terraform", version: "1.5.7", bytes: expect.any(Number), source: "installed", "last-used": null },
      {
        engine: "terraform",
        version: "1.9.5",
        bytes: expect.any(Number),
        source: "fetched",
        "last-used": expect.any(String),
      },
      {
        engine: "tofu",
        version: "1.10.6",
        bytes: expect.any(Number),
        source: "fetched",
        "last-used": expect.any(String),
      },
    ]);
    expect((await engine("list")).out).toMatch(/^ENGINE +VERSION +BYTES +SOURCE +LAST USED\nterraform +1\.5\.7/);
    expect(await engine("remove terraform 1.9.5")).toMatchObject({ code: 0, out: "Removed Terraform 1.9.5." });
    expect(await engine("remove terraform 1.9.5")).toMatchObject({ code: 1, err: "Terraform 1.9.5 is not there." });
  });

  test("refuses to remove an engine in use", async () => {
    const settings = {
      engines,
      engineMirror: mirror.url,
      engineMirrorInsecure: false,
      engineKeys: environment["CADASTRE_ENGINE_KEYS"],
      engineCacheMb: 100,
    };
    await engine("fetch tofu 1.10.6");
    const { release } = await new EngineCache(settings).use(
      { product: "tofu", version: "1.10.6" },
      new AbortController().signal,
    );
    const { code, err } = await engine("remove tofu 1.10.6");
    expect([code, err]).toEqual([1, "A job uses OpenTofu 1.10.6. Try again when it has ended."]);
    release();
    expect((await engine("remove tofu 1.10.6")).code).toBe(0);
  });

  test.each([
    ["a missing version", "fetch terraform 9.9.9", {}, /^Terraform 9\.9\.9 can't be fetched: .* does not have /],
    [
      "fetching that is off",
      "fetch terraform 9.9.9",
      { CADASTRE_ENGINE_MIRROR: "off" },
      /CADASTRE_ENGINE_MIRROR is off\.$/,
    ],
    [
      "a mirror without TLS",
      "fetch terraform 9.9.9",
      { CADASTRE_ENGINE_MIRROR: "http://localhost" },
      /must begin with https:\/\/.*INSECURE/,
    ],
    [
      "keys that can't be read",
      "fetch terraform 1.9.5",
      { CADASTRE_ENGINE_KEYS: "/no/such" },
      /^CADASTRE_ENGINE_KEYS can't be read/,
    ],
    [
      "a file without keys",
      "fetch terraform 1.9.5",
      { CADASTRE_ENGINE_KEYS: mirrorCa },
      /^CADASTRE_ENGINE_KEYS must be .* has none\.$/,
    ],
  ])("says what is wrong: %s", async (_, words, more, sentence) => {
    await engine("remove terraform 1.9.5");
    const { code, err } = await engine(words, more as Record<string, string>);
    expect(code).toBe(1);
    expect(err).toMatch(sentence);
  });

  test("a refused engine is not there afterwards", async () => {
    await mirror.publish({ product: "terraform", version: "1.9.6" }, { checksum: "0".repeat(64) });
    expect((await engine("fetch terraform 1.9.6")).err).toMatch(
      /^Terraform 1\.9\.6 was refused\. .*its publisher signed 0{64}\.$/,
    );
    expect(existsSync(join(engines, "terraform/1.9.6"))).toBe(false);
  });

  test.each([
    ["fetch", "'cadastre engine fetch' needs ENGINE VERSION. See 'cadastre engine fetch --help'."],
    ["fetch terraform", "'cadastre engine fetch' needs ENGINE VERSION. See 'cadastre engine fetch --help'."],
    ["fetch packer 1.0.0", "ENGINE must be terraform or tofu, not 'packer'."],
    ["fetch terraform ../1.0.0", "VERSION must be an exact version such as 1.9.5, not '../1.0.0'."],
    ["remove terraform 1.0.0 x", "Unexpected argument 'x'. See 'cadastre engine remove --help'."],
  ])("engine %s: wrong usage", async (words, sentence) => {
    expect(await engine(words)).toMatchObject({ code: 2, err: sentence });
  });

  test("reads a server's or an agent's settings file", async () => {
    const config = join(folder, "server.conf");
    writeFileSync(config, `CADASTRE_WORKERS=1\nCADASTRE_AGENT_SLOTS=2\nCADASTRE_ENGINES=${join(folder, "others")}\n`);
    expect(await cadastre(["engine", "list"], { CADASTRE_CONFIG: config })).toMatchObject({
      code: 0,
      out: "There are no engines.",
    });
  });
});
