import { describe, expect, it } from "vitest";
import { Capability } from "../../src/access/capability.ts";
import { authorize, withProofOf } from "../../src/access/granted.ts";

// A name of its own, because the real ones have issuers that other tests may load.
const name = "test" as "import";
const issue = Capability.issuer(name);

describe("a capability", () => {
  it("has one issuer", () => {
    expect(() => Capability.issuer(name)).toThrow("has an issuer already");
  });

  it("covers its subject and what belongs to it", () => {
    const rows = [{ id: "org-1" }, { id: "ws-1", organizationId: "org-1" }];
    for (const row of rows) expect(issue("org-1").proofFor(row)).toBe(row);
    expect(() => issue("org-2").proofFor(rows[1] ?? {})).toThrow("a row of something else");
    expect(issue().proofFor({ id: "ws-1" })).toEqual({ id: "ws-1" });
  });
});

describe("a proof", () => {
  const check = { thing: "project", permission: "can-update", visible: true, allowed: true, needs: "it" } as const;
  const project = authorize({ id: "prj-1" }, check);

  it.each([
    ["the thing itself", { id: "prj-1" }, true],
    ["what is in it", { id: "ws-1", projectId: "prj-1" }, true],
    ["what is in another", { id: "ws-1", projectId: "prj-2" }, false],
    ["what names it by a name", { id: "ws-1", name: "prj-1" }, false],
  ])("is carried to %s", (_, row, isCarried) => {
    const carried = () => withProofOf(project, row);
    if (isCarried) expect(carried()).toBe(row);
    else expect(carried).toThrow("a row of something else");
  });
});
