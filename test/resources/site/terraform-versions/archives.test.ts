/** Downloads of a Terraform version by platform, and its deprecation. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
const [shaA, shaB, shaC] = ["a", "b", "c"].map((digit) => digit.repeat(64)) as [string, string, string];
const url = "https://example.com/engine.zip";
const arch = (name: string, sha: string) => ({ url, sha, os: "linux", arch: name });

let counter = 0;
const nextVersion = () => `0.3.${(counter += 1)}`;
const create = (attributes: object) =>
  api.admin.post(
    "/admin/terraform-versions",
    resource("terraform-versions", { version: nextVersion(), ...attributes }),
  );
const createdAttributes = async (attributes: object): Promise<Json> => data(await create(attributes)).attributes;

let id: string;
const update = (attributes: object) =>
  api.admin.patch(`/admin/terraform-versions/${id}`, resource("terraform-versions", attributes));
const updated = async (attributes: object): Promise<Json> => data(await update(attributes)).attributes;

describe("archs", () => {
  it("contain `url` and `sha` if no list is sent", async () => {
    expect((await createdAttributes({ url, sha: shaA })).archs).toEqual([arch("amd64", shaA)]);
    expect((await createdAttributes({})).archs).toEqual([]);
  });

  it("set `url` and `sha` to those for linux/amd64, even if others are sent", async () => {
    const archs = [arch("arm64", shaB), arch("amd64", shaA)];
    expect(await createdAttributes({ archs, sha: "" })).toMatchObject({ archs, url, sha: shaA });
    expect(await createdAttributes({ archs, url: "https://example.com/other", sha: shaC })).toMatchObject({
      archs,
      url,
      sha: shaA,
    });
    expect(await createdAttributes({ archs: [arch("arm64", shaB)], url, sha: shaC })).toMatchObject({
      url: null,
      sha: null,
    });
  });

  it("default to linux/amd64", async () => {
    expect((await createdAttributes({ archs: [{ url, sha: shaA }] })).archs).toEqual([arch("amd64", shaA)]);
  });

  it("accept a blank sha, as clients send it, in the list and outside", async () => {
    expect(await createdAttributes({ archs: [arch("amd64", "")] })).toMatchObject({
      archs: [arch("amd64", "")],
      sha: null,
    });
    expect(await createdAttributes({ url, sha: "" })).toMatchObject({ archs: [arch("amd64", "")], url, sha: null });
  });

  describe("on an update", () => {
    beforeEach(async () => {
      id = data(await create({ archs: [arch("amd64", shaA), arch("arm64", shaB)] })).id;
    });

    it("replace the list, `url` and `sha`", async () => {
      const archs = [arch("arm64", shaC)];
      expect(await updated({ archs })).toMatchObject({ archs, url: null, sha: null });
      const shown = data(await api.admin.get(`/admin/terraform-versions/${id}`)).attributes;
      expect(shown).toMatchObject({ archs, url: null, sha: null });
    });

    it("are replaced by a new `url` and `sha`", async () => {
      const other = "https://example.com/other";
      const after = await updated({ url: other, sha: shaC });
      expect(after).toMatchObject({ url: other, sha: shaC, archs: [{ ...arch("amd64", shaC), url: other }] });
    });

    it("stay if none of the three is sent", async () => {
      const archs = [arch("amd64", shaA), arch("arm64", shaB)];
      expect(await updated({ beta: true })).toMatchObject({ archs, url, sha: shaA });
    });
  });

  it.each([
    ["a url that is none", { ...arch("amd64", shaA), url: "example.com" }, "url"],
    ["no url", { sha: shaA, os: "linux", arch: "amd64" }, "url"],
    ["a sha that is none", arch("amd64", "abc"), "sha"],
    ["no sha", { url, os: "linux", arch: "amd64" }, "sha"],
    ["an empty os", { ...arch("amd64", shaA), os: "" }, "os"],
    ["an arch that is no word", arch("a b", shaA), "arch"],
  ])("422: %s", async (_, wrong, member) => {
    const answer = await create({ archs: [arch("arm64", shaB), wrong] });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([`/data/attributes/archs/1/${member}`]);
  });

  it("422: more than 32, or no list", async () => {
    for (const archs of [Array.from({ length: 33 }, () => arch("amd64", shaA)), "linux", {}]) {
      const answer = await create({ archs });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/archs"]);
    }
  });
});

describe("deprecated", () => {
  it("is stored with its reason, which is null otherwise", async () => {
    const reason = "It has a fault.";
    expect(await createdAttributes({})).toMatchObject({ deprecated: false, "deprecated-reason": null });
    expect(await createdAttributes({ deprecated: true, "deprecated-reason": reason })).toMatchObject({
      deprecated: true,
      "deprecated-reason": reason,
    });
    expect(await createdAttributes({ deprecated: true, "deprecated-reason": "" })).toMatchObject({
      "deprecated-reason": null,
    });
    expect(await createdAttributes({ "deprecated-reason": reason })).toMatchObject({
      deprecated: false,
      "deprecated-reason": null,
    });
  });

  it("value, null, absent: the reason stays until it is cleared or no longer needed", async () => {
    id = data(await create({})).id;
    expect(await updated({ deprecated: true, "deprecated-reason": "one" })).toMatchObject({
      "deprecated-reason": "one",
    });
    expect(await updated({ beta: true })).toMatchObject({ deprecated: true, "deprecated-reason": "one" });
    expect(await updated({ "deprecated-reason": null })).toMatchObject({ deprecated: true, "deprecated-reason": null });
    await updated({ "deprecated-reason": "two" });
    expect(await updated({ deprecated: false })).toMatchObject({ deprecated: false, "deprecated-reason": null });
    expect(await updated({ deprecated: true })).toMatchObject({ deprecated: true, "deprecated-reason": null });
  });

  it("422: a reason that is too long", async () => {
    const answer = await create({ deprecated: true, "deprecated-reason": "x".repeat(1025) });
    expect(pointers(answer)).toEqual(["/data/attributes/deprecated-reason"]);
  });
});

describe("a version with a long patch number", () => {
  it("201: can be added, found and used in a workspace", async () => {
    const version = "1.0.4941869997571237407";
    expect((await createdAttributes({ version })).version).toBe(version);
    const found = data(await api.admin.get(`/admin/terraform-versions?filter[version]=${version}`));
    expect(found.map(({ attributes }: Json) => attributes.version)).toEqual([version]);
    expect(details(await create({ version }))).toEqual(["Version has already been taken"]);
  });
});
