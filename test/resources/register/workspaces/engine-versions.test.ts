/** engine-version and terraform-version: two names for one attribute; exact versions, constraints and the default. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource, unique } from "../../../support/builders.ts";
import { at, faults, pathById } from "./support.ts";

const api = useApi();
let org: Org;
let workspace: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
  workspace = await makeWorkspace(api, org.name, { "engine-version": "1.2.3" });
});

const create = (attributes: object) =>
  org.owner.post(
    `/organizations/${org.name}/workspaces`,
    resource("workspaces", { name: unique("ws"), ...attributes }),
  );
const update = (attributes: object) => org.owner.patch(pathById(workspace), resource("workspaces", attributes));
const versions = ({ attributes }: Json) => [attributes["engine-version"], attributes["terraform-version"]];

const accepted = [
  "1.9.5",
  "0.11.0",
  "99.99.99",
  "1.9.0-beta1",
  "1.9.0-rc.1+build.5",
  "~> 1.0.0",
  "~>1.0",
  ">= 1.2, < 2.0",
  "!= 1.3.1",
  "= 1.4",
  "> 1",
  "latest",
];
const refused = [
  "new",
  "v1.0.0",
  "1.0.0.0",
  "~> ",
  ">= 1.2,",
  "=> 1.0",
  "1.x",
  "1.0.0 || 2.0.0",
  "01.0.0",
  "1..0",
  " ",
];
const sentence = "Engine version must be an exact version such as 1.9.5, or a constraint such as ~> 1.9.0";

describe.each(["engine-version", "terraform-version"])("%s", (name) => {
  it.each(accepted)("takes %j on creation and update, and both names show it", async (version) => {
    const made = data(await create({ [name]: version }));
    expect(versions(made)).toEqual([version, version]);
    expect(versions(data(await org.owner.get(pathById(made))))).toEqual([version, version]);
    expect(versions(data(await update({ [name]: version })))).toEqual([version, version]);
  });

  it.each(refused)("refuses %j on creation and update", async (version) => {
    for (const answer of [await create({ [name]: version }), await update({ [name]: version })]) {
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual([at("engine-version", sentence)]);
    }
  });

  it.each([
    [null, "Engine version must be a string"],
    [1.5, "Engine version must be a string"],
    ["", "Engine version can't be blank"],
    [`1.0.0-${"a".repeat(100)}`, "Engine version is too long (maximum is 100 characters)"],
  ])("refuses %j", async (value, detail) => {
    expect(faults(await create({ [name]: value }))).toEqual([at("engine-version", detail)]);
    expect(faults(await update({ [name]: value }))).toEqual([at("engine-version", detail)]);
  });
});

describe("both names", () => {
  it("with one value are taken", async () => {
    const both = { "engine-version": "1.7.0", "terraform-version": "1.7.0" };
    expect(versions(data(await create(both)))).toEqual(["1.7.0", "1.7.0"]);
    expect(versions(data(await update(both)))).toEqual(["1.7.0", "1.7.0"]);
  });

  it("with different values are refused, and nothing changes", async () => {
    const before = data(await org.owner.get(pathById(workspace)));
    const both = { "engine-version": "1.7.0", "terraform-version": "1.8.0", description: "x" };
    const expected = [
      at(
        "terraform-version",
        "Terraform version must be the same as engine-version: they are two names for one attribute",
      ),
    ];
    for (const answer of [await create(both), await update(both)]) {
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual(expected);
    }
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(before);
  });
});

describe("the default", () => {
  it("is the newest known release, also one that a site admin added; an update without a version keeps the old one", async () => {
    const old = data(await create({}));
    expect(versions(old)).toEqual(["1.14.9", "1.14.9"]);
    const add = (version: string, attributes: object = {}) =>
      api.admin.post("/admin/terraform-versions", resource("terraform-versions", { version, ...attributes }));
    data(await add("7.1.0-beta1"));
    data(await add("7.2.0", { beta: true }));
    data(await add("7.3.0", { enabled: false }));
    expect(versions(data(await create({})))).toEqual(["1.14.9", "1.14.9"]);
    data(await add("7.0.1"));
    data(await add("7.0.0"));
    expect(versions(data(await create({})))).toEqual(["7.0.1", "7.0.1"]);
    const kept = await org.owner.patch(pathById(old), resource("workspaces", { description: "x" }));
    expect(versions(data(kept))).toEqual(["1.14.9", "1.14.9"]);
  });
});
