/** `cadastre export`: an organization as files. `conformance/export.ts` tests that the official provider plans no changes with them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ResourceLabels, quotedText, valueText } from "../../src/moving/exporting/hcl.ts";
import { useApi } from "../support/api.ts";
import { cadastre, useFolder } from "../cli/support.ts";
import { readReasons } from "../support/exception-lists.ts";
import { exportedTypes, missingInHcl } from "./in-hcl.ts";
import { createFullOrganization, type FullOrganization } from "./organization.ts";

const api = useApi();
const folder = useFolder();
let organization: FullOrganization;
let out: string;

const runExport = (name: string, to: string) =>
  cadastre(["export", "--organization", name, "--to", to, "--public-url", "https://cadastre.example"], {
    CADASTRE_DATABASE: api.address,
    CADASTRE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("hex"),
  });

beforeAll(async () => {
  organization = await createFullOrganization(api);
  const ended = await runExport(organization.name, join(folder, "files"));
  expect(ended).toMatchObject({ code: 0, err: "" });
  out = ended.out;
});

const file = (path: string) => readFileSync(join(folder, "files", path), "utf8");

describe("cadastre export", () => {
  test("writes a JSON file for each resource, without the caller's permissions", () => {
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

  test("writes resources of the official provider, each with an import block", () => {
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

  test("writes no secrets, and lists what is in no file", () => {
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

  test("exit code 1: a directory that is not empty, or an unknown organization", async () => {
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

  test("exit code 2: without an organization, or without a directory", async () => {
    expect((await cadastre(["export", "--to", "x"])).code).toBe(2);
    expect((await cadastre(["export", "--organization", "x"])).code).toBe(2);
  });
});

describe("HCL", () => {
  test("contains every setting of the exported resources, or test/goldens/without-hcl.txt says why not", () => {
    const excused = [...readReasons("test/goldens/without-hcl.txt").keys()];
    const message =
      "export the setting in src/moving/exporting/: as an argument, or in `writer.unsupported` where the provider has none";
    expect(exportedTypes.flatMap(missingInHcl).toSorted(), message).toEqual(excused.toSorted());
  });

  test.each([
    ["plain", '"plain"'],
    ['a "quote" and a \\', '"a \\"quote\\" and a \\\\"'],
    ["two\nlines", '"two\\nlines"'],
    ["${a.b} and %{if}", '"$${a.b} and %%{if}"'],
    ["\b\f", '"\\u0008\\u000c"'],
    ["\\b", '"\\\\b"'],
  ])("%j is quoted, so that HCL evaluates nothing in it", (text, written) => expect(quotedText(text)).toBe(written));

  test("writes one line for each item of a list or map", () => {
    expect(valueText(["a", "b"])).toBe('[\n  "a",\n  "b",\n]');
    expect(valueText({ "a.b": 1 })).toBe('{\n  "a.b" = 1\n}');
    expect([valueText([]), valueText({})]).toEqual(["[]", "{}"]);
  });

  test("labels contain letters, digits and underscores, don't begin with a digit, and are unique", () => {
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
