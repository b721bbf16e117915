/** The rule for refusals. */
import { describe, expect, it } from "vitest";
import { type PermissionCheck, authorize } from "../../src/access/granted.ts";
import { AppError } from "../../src/kernel/errors.ts";

const row = { id: "ws-1" };
const check: PermissionCheck<"can-lock"> = {
  thing: "workspace",
  permission: "can-lock",
  visible: true,
  allowed: true,
  needs: "the permission to lock",
};

function refusalOf(wanted: Partial<PermissionCheck<"can-lock">>): [string, string] | undefined {
  try {
    authorize(row, { ...check, ...wanted });
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.message];
    throw error;
  }
}

describe("authorize", () => {
  const unseen = [
    "not-found",
    expect.stringMatching(/^There is no such workspace, or you are not allowed to see it\./),
  ];
  const sentence = "You can see this workspace, but this action needs the permission to lock (can-lock).";

  it("returns the row if the permission is granted", () => {
    expect(authorize(row, check)).toBe(row);
  });

  it("gives the same error for every resource that the caller can't see", () => {
    for (const allowed of [true, false]) {
      for (const whenDenied of ["forbid", "hide"] as const)
        expect(refusalOf({ visible: false, allowed, whenDenied })).toEqual(unseen);
    }
  });

  it("names the missing permission to callers who can see the resource, as forbidden or, where only that is listed, as not found", () => {
    expect(refusalOf({ allowed: false })).toEqual(["forbidden", sentence]);
    expect(refusalOf({ allowed: false, whenDenied: "forbid" })).toEqual(["forbidden", sentence]);
    expect(refusalOf({ allowed: false, whenDenied: "hide" })).toEqual(["not-found", sentence]);
  });
});
