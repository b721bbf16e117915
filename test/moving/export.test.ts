/** `cadastre export`: an organization as files. That the official provider plans nothing with them is tried by `conformance/export.ts`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ResourceLabels, quotedText, valueText } from "../../src/moving/exporting/hcl.ts";
import { useApi } from "../support/api.ts";
import { cadastre, useFolder } from "../cli/support.ts";
import { readReasons } from "../support/lists.ts";
import { exportedTypes, missingInHcl } from "./in-hcl.ts";
import { furnish, type Furnished } from "./organization.ts";

const api = useApi();
const folder = useFolder();
let organization: Furnished;
let out: string;

const runExport = (name: string, to: string) =>
  cadastre(["export", "--organization", name, "--to", to, "--public-url", "https://cadastre.example"], {
    CADASTRE_DATABASE: api.address,
    CADASTRE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("hex"),
  });

beforeAll(async () => {
  organization = await furnish(api);
  const ended = await runExport(organization.name, join(folder, "files"));
  expect(ended).toMatchObject({ code: 0, err: "" });
  out = ended.out;
});

const file = (path: string) => readFileSync(join(folder, "files", path), "utf8");

describe("cadastre export", () => {
  test("writes a file of JSON for each thing, without what depends on the reader", () => {
    expect(readdirSync(join(folder, "files/json/workspaces")).toSorted()).toEqual([
      "network.json",
      "plain.json",
      "shop.json",
    ]);
    const network = JSON.parse(file("json/workspaces/network.json"));
    expect(network).toMatchObject({
      id: organization.workspaces.network.id,
      attributes: { name: "network", "execution-mode": "agent", "tag-names": ["core", "eu"] },
      "remote-state-consumers": ["shop"],
    });
    expect(network.attributes.permissions).toBeUndefined();
    expect(network.variables.map(({ attributes }: { attributes: { key: string } }) => attributes.key)).toContain(
      "region",
    );
    expect(JSON.parse(file("json/organization.json")).attributes.name).toBe(organization.name);
  });

  test("writes resources of the official provider, each with a block that imports it", () => {
    const text = file("terraform/workspaces.tf");
    expect(text).toContain(`import {\n  to = tfe_workspace.network\n  id = "${organization.workspaces.network.id}"\n}`);
    expect(text).toContain("project_id = tfe_project.network.id");
    expect(file("terraform/main.tf")).toContain('hostname = "cadastre.example"');
    expect(file("terraform/access.tf")).toContain("team_id = tfe_team.secret.id");
    for (const name of readdirSync(join(folder, "files/terraform"))) {
      const lines = file(`terraform/${name}`).split("\n");
      const imports = lines.filter((line) => line === "import {").length;
      expect(lines.filter((line) => line.startsWith("resource ")).length, name).toBe(imports);
    }
  });

  test("gives no secret away, and lists what is in no file", () => {
    const all = readdirSync(join(folder, "files"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.\w+$/.test(path))
      .map(file)
      .join("\n");
    expect(all).not.toContain("s3cr3t");
    expect(file("terraform/variables.tf")).toContain('# resource "tfe_variable" "network_cloud_secret" {');
    for (const text of [out, file("README.md")]) {
      expect(text).toContain("the value of the variable CLOUD_SECRET of network");
      expect(text).toContain("the SSH key modules");
      expect(text).toContain("the reserved tag key cost");
    }
  });

  test("1: a folder that holds something, and an organization that is not there", async () => {
    expect(await runExport(organization.name, join(folder, "files"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("is not empty"),
    });
    expect(await runExport("nobody-has-this", join(folder, "other"))).toMatchObject({
      code: 1,
      err: "There is no organization 'nobody-has-this'.",
    });
    expect(existsSync(join(folder, "other/README.md"))).toBe(false);
  });

  test("2: without an organization, and without a folder", async () => {
    expect((await cadastre(["export", "--to", "x"])).code).toBe(2);
    expect((await cadastre(["export", "--organization", "x"])).code).toBe(2);
  });
});

describe("HCL", () => {
  test("shows every setting of what is exported, or test/goldens/without-hcl.txt says why not", () => {
    const excused = [...readReasons("test/goldens/without-hcl.txt").keys()];
    const message =
      "export the setting in src/moving/exporting/: as an argument, or in `writer.beyond` where the provider has none";
    expect(exportedTypes.flatMap(missingInHcl).toSorted(), message).toEqual(excused.toSorted());
  });

  test.each([
    ["plain", '"plain"'],
    ['a "quote" and a \\', '"a \\"quote\\" and a \\\\"'],
    ["two\nlines", '"two\\nlines"'],
    ["${a.b} and %{if}", '"$${a.b} and %%{if}"'],
    ["\b\f", '"\\u0008\\u000c"'],
    ["\\b", '"\\\\b"'],
  ])("%j is text, and nothing of it is evaluated", (text, written) => expect(quotedText(text)).toBe(written));

  test("lists and maps are written line by line", () => {
    expect(valueText(["a", "b"])).toBe('[\n  "a",\n  "b",\n]');
    expect(valueText({ "a.b": 1 })).toBe('{\n  "a.b" = 1\n}');
    expect([valueText([]), valueText({})]).toEqual(["[]", "{}"]);
  });

  test("names are letters, digits and underscores, begin with no digit, and are there once", () => {
    const labels = new ResourceLabels();
    expect(["1 local", "A/b", "a b", "…", "a_b"].map((name) => labels.for("x", name))).toEqual([
      "_1_local",
      "a_b",
      "a_b_2",
      "unnamed",
      "a_b_3",
    ]);
    expect(labels.for("y", "a b")).toBe("a_b");
  });
});
