/** Columns are derived from the attributes of a definition only. */
import { describe, expect, it } from "vitest";
import { changedColumns, createdColumns } from "../../src/jsonapi/columns.ts";
import { defineResource } from "../../src/jsonapi/define.ts";
import { flag, text } from "../../src/jsonapi/schemas.ts";

const parcels = defineResource<{ id: string }>()(({ fixed, optional, readOnly, required }) => ({
  type: "parcels",
  doc: "A piece of land.",
  id: (parcel) => parcel.id,
  attributes: {
    name: required(text(), "Its name.", { folded: true }),
    "is-fenced": optional(flag(), "Whether there is a fence.", { default: true }),
    "path-list": optional(text().array(), "Ways through it.", { default: [] }),
    note: optional(text().nullable(), "A note.", { default: null }),
    engine: optional(text(), "What the operation gives."),
    origin: fixed(text(), "Where it came from.", { default: "here" }),
    owner: optional(text(), "More than a column.", { column: false, default: "nobody" }),
    size: readOnly(text(), "Measured."),
  },
  relationships: {},
  operations: {},
}));

describe("createdColumns", () => {
  it("uses the definition's default for absent attributes", () => {
    expect(createdColumns(parcels, { name: "Élan" })).toEqual({
      name: "Élan",
      nameKey: "élan",
      isFenced: 1,
      pathList: "[]",
      note: null,
      engine: undefined,
      origin: "here",
    });
  });

  it("prefers sent values, then the operation's", () => {
    const given = { engine: "1.0", isFenced: 0 };
    expect(createdColumns(parcels, { name: "a" }, given)).toMatchObject({ engine: "1.0", isFenced: 0 });
    expect(createdColumns(parcels, { name: "a", engine: "2.0", isFenced: true }, given)).toMatchObject({
      engine: "2.0",
      isFenced: 1,
    });
  });
});

describe("changedColumns", () => {
  it("distinguishes absent from null", () => {
    expect(changedColumns(parcels, { note: null, pathList: ["a", "b"] })).toEqual({
      note: null,
      pathList: '["a","b"]',
    });
    expect(changedColumns(parcels, {})).toEqual({});
  });

  it("omits attributes without a column and read-only ones", () => {
    expect(changedColumns(parcels, { owner: "ada", size: "1 ha" })).toEqual({});
  });
});
