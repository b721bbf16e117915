/** The JSON:API engine with a made-up resource. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineResource, type MountedResource, definitionBuilders } from "../../src/jsonapi/define.ts";
import { auditedAttributes, writeIncluded, writeResource } from "../../src/jsonapi/document.ts";
import { parseBody } from "../../src/jsonapi/input.ts";
import { pagination } from "../../src/jsonapi/pagination.ts";
import { parseQuery } from "../../src/jsonapi/query.ts";
import { flag, oneOf, reference, text, timestamp, wholeNumber } from "../../src/jsonapi/schemas.ts";
import { verifyResources } from "../../src/jsonapi/verify.ts";
import { AppError } from "../../src/kernel/errors.ts";

interface Parcel {
  id: string;
  version: number;
  name: string;
  note: string | null;
  isFenced: number;
  engineVersion: string;
  ownerId: string | null;
}

const parcels = defineResource<Parcel>()(({ fixed, optional, readOnly, required, toMany, toOne }) => ({
  type: "parcels",
  doc: "A piece of land.",
  id: (parcel) => parcel.id,
  version: (parcel) => parcel.version,
  attributes: {
    name: required(text({ min: 2, max: 5 }), "Its name."),
    note: optional(text({ max: 10 }).nullable(), "A note."),
    "is-fenced": optional(flag(), "Whether there is a fence.", { default: false }),
    "engine-version": optional(text(), "An attribute with two names."),
    size: optional(wholeNumber({ min: 1, max: 9 }), "How large.", { from: () => undefined }),
    kind: fixed(oneOf(["field", "wood"]), "What grows there.", { from: () => "field" }),
    "sold-at": optional(timestamp().nullable(), "When it was sold.", { from: () => null }),
    "fence-id": optional(reference(), "Its fence.", { shown: false }),
    "mock-access": optional(z.object({ "policy-mocks": z.enum(["none", "read"]).optional() }), "Nested.", {
      from: () => ({ "policy-mocks": "read" }),
    }),
    permissions: readOnly(z.object({}), "Depends on the caller.", {
      from: () => ({ "can-plough": true }),
      audited: false,
    }),
  },
  relationships: {
    owner: toOne("owners", "Whose it is.", {
      create: "required",
      update: "optional",
      nullable: true,
      id: (parcel) => parcel.ownerId,
    }),
    neighbours: toMany("parcels", "What is beside it.", {
      create: "optional",
      update: "optional",
      ids: () => ["p-2"],
      related: (parcel) => `/parcels/${parcel.id}/neighbours`,
    }),
  },
  links: (parcel) => ({ self: `/parcels/${parcel.id}` }),
  operations: {
    showParcel: { method: "GET", path: "/parcels/:parcel_id", summary: "Show", needs: "anyone", answer: "document" },
  },
}));

const parcel: Parcel = {
  id: "p-1",
  version: 3,
  name: "Moor",
  note: null,
  isFenced: 1,
  engineVersion: "1.2.3",
  ownerId: null,
};

function faultsOf(work: () => unknown): [string | undefined, string][] {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError)
      return error.faults.map(({ pointer, parameter, detail }) => [pointer ?? parameter, detail]);
    throw error;
  }
  return [];
}

const body = (attributes: object, relationships: object = { owner: { data: { type: "owners", id: "o-1" } } }) => ({
  data: { type: "parcels", attributes, relationships },
});

describe("documents", () => {
  it("show every attribute once, flags as booleans, and aliases", () => {
    expect(JSON.parse(writeResource(parcels, parcel))).toEqual({
      id: "p-1",
      type: "parcels",
      attributes: {
        name: "Moor",
        note: null,
        "is-fenced": true,
        "engine-version": "1.2.3",
        "terraform-version": "1.2.3",
        kind: "field",
        "sold-at": null,
        "mock-access": { "policy-mocks": "read", "sentinel-mocks": "read" },
        permissions: { "can-plough": true },
      },
      relationships: {
        owner: { data: null },
        neighbours: { data: [{ id: "p-2", type: "parcels" }], links: { related: "/parcels/p-1/neighbours" } },
      },
      links: { self: "/parcels/p-1" },
    });
  });

  it("escape any text as JSON does", () => {
    for (const name of ['say "hi"', "back\\slash", "line\nbreak", "\u0007", "🍄 ÄÖ 漢字", "\u2028", ""]) {
      expect(JSON.parse(writeResource(parcels, { ...parcel, name })).attributes.name).toBe(name);
    }
  });

  it("omit attributes that depend on the caller from the audit log", () => {
    expect(auditedAttributes(parcels, parcel)).not.toHaveProperty("permissions");
    expect(auditedAttributes(parcels, parcel)).toHaveProperty("name", "Moor");
  });

  it("include each resource once", () => {
    const twice = [parcel, parcel, { ...parcel, id: "p-2" }].map((view) => ({ definition: parcels, view }));
    const { included } = JSON.parse(`{"data":null${writeIncluded(twice)}}`) as { included: { id: string }[] };
    expect(included.map(({ id }) => id)).toEqual(["p-1", "p-2"]);
    expect(writeIncluded(undefined)).toBe("");
  });

  it.each([
    [1, 20, 0, { prev: null, next: null, pages: 1 }],
    [1, 20, 20, { prev: null, next: null, pages: 1 }],
    [1, 20, 21, { prev: null, next: 2, pages: 2 }],
    [2, 20, 41, { prev: 1, next: 3, pages: 3 }],
    [3, 20, 41, { prev: 2, next: null, pages: 3 }],
    [9, 20, 41, { prev: 3, next: null, pages: 3 }],
  ])("paginate page %i of size %i over %i", (number, size, totalCount, expected) => {
    const { links, meta } = pagination({ page: { number, size }, totalCount, url: "/x?q=a%20b&page[number]=7" });
    expect(meta.pagination).toEqual({
      "current-page": number,
      "page-size": size,
      "prev-page": expected.prev,
      "next-page": expected.next,
      "total-pages": expected.pages,
      "total-count": totalCount,
    });
    expect(links.prev === null).toBe(expected.prev === null);
    expect(links.next === null).toBe(expected.next === null);
    expect(new URLSearchParams(links.last.split("?")[1]).get("page[number]")).toBe(String(expected.pages));
    expect(new URLSearchParams(links.self.split("?")[1]).get("q")).toBe("a b");
  });
});

describe("bodies", () => {
  it("distinguish absent, null and value", () => {
    const update = (attributes: object) =>
      (parseBody(parcels, "update", body(attributes, {})) as { attributes: object }).attributes;
    expect(update({})).toEqual({});
    expect(update({ note: null })).toEqual({ note: null });
    expect(update({ note: "x" })).toEqual({ note: "x" });
  });

  it("read the id of relationships and ignore the rest", () => {
    const sent = {
      owner: { data: { type: "owners", id: "o-1", attributes: { rich: true } } },
      neighbours: { data: [{ type: "parcels", id: "p-9" }] },
    };
    expect(parseBody(parcels, "create", body({ name: "Moor" }, sent))).toEqual({
      attributes: { name: "Moor" },
      relationships: { owner: "o-1", neighbours: ["p-9"] },
    });
  });

  it("ignore unknown, read-only and fixed members", () => {
    const parsed = parseBody(parcels, "update", body({ cats: 1, permissions: {}, kind: "wood" }, {})) as {
      attributes: object;
    };
    expect(parsed.attributes).toEqual({});
  });

  it("are refused with all faults together", () => {
    const wrong = {
      data: {
        type: "cats",
        attributes: { note: 1, size: 1.5, "is-fenced": "yes", kind: "sea", "sold-at": "soon" },
        relationships: { neighbours: { data: {} } },
      },
    };
    expect(faultsOf(() => parseBody(parcels, "create", wrong)).toSorted()).toEqual(
      [
        ["/data/type", "Type must be 'parcels'"],
        ["/data/attributes/name", "Name can't be blank"],
        ["/data/attributes/note", "Note must be a string"],
        ["/data/attributes/size", "Size must be a whole number from 1 to 9"],
        ["/data/attributes/is-fenced", "Is fenced must be true or false"],
        ["/data/attributes/kind", "Kind must be one of: field, wood"],
        ["/data/attributes/sold-at", "Sold at must be a timestamp such as 2030-01-31T12:00:00Z"],
        ["/data/relationships/owner", "Owner can't be blank"],
        [
          "/data/relationships/neighbours/data",
          'Neighbours must be given as an array of {"type": "parcels", "id": …} in a member \'data\'',
        ],
      ].toSorted(),
    );
  });

  it.each([
    ["", "Name can't be blank"],
    ["a", "Name is too short (minimum is 2 characters)"],
    ["abcdef", "Name is too long (maximum is 5 characters)"],
    ["🍄🍄🍄🍄🍄🍄", "Name is too long (maximum is 5 characters)"],
  ])("count code points as characters: %s", (name, sentence) => {
    expect(faultsOf(() => parseBody(parcels, "create", body({ name })))).toEqual([["/data/attributes/name", sentence]]);
    expect(faultsOf(() => parseBody(parcels, "create", body({ name: "🍄🍄🍄🍄🍄" })))).toEqual([]);
  });

  it("convert a timestamp of any time zone to UTC", () => {
    const parsed = parseBody(parcels, "update", body({ "sold-at": "2030-01-31T13:00:00+01:00" }, {})) as {
      attributes: object;
    };
    expect(parsed.attributes).toEqual({ soldAt: "2030-01-31T12:00:00.000Z" });
  });

  it("read blank as null in references only", () => {
    const update = (attributes: object) =>
      (parseBody(parcels, "update", body(attributes, {})) as { attributes: object }).attributes;
    expect(update({ "fence-id": "" })).toEqual({ fenceId: null });
    expect(update({ "fence-id": null })).toEqual({ fenceId: null });
    expect(update({ "fence-id": "f-1" })).toEqual({ fenceId: "f-1" });
    expect(update({})).toEqual({});
    expect(update({ note: "" })).toEqual({ note: "" });
    expect(faultsOf(() => update({ "fence-id": 1 }))).toEqual([
      ["/data/attributes/fence-id", "Fence id must be a string"],
    ]);
  });

  it("accept either of two names, and both with one value", () => {
    const version = (attributes: object) =>
      (parseBody(parcels, "update", body(attributes, {})) as { attributes: object }).attributes;
    expect(version({ "terraform-version": "1.0.0" })).toEqual({ engineVersion: "1.0.0" });
    expect(version({ "engine-version": "1.0.0", "terraform-version": "1.0.0" })).toEqual({ engineVersion: "1.0.0" });
    expect(version({ "mock-access": { "sentinel-mocks": "read" } })).toEqual({
      mockAccess: { "policy-mocks": "read" },
    });
    expect(faultsOf(() => version({ "engine-version": "1", "terraform-version": "2" }))).toEqual([
      [
        "/data/attributes/terraform-version",
        "Terraform version must be the same as engine-version: they are two names for one attribute",
      ],
    ]);
  });

  it("hold at most 1,000 identifiers", () => {
    const linkage = (length: number) => ({
      data: Array.from({ length }, (_, index) => ({ type: "parcels", id: `p-${index}` })),
    });
    expect(faultsOf(() => parseBody(parcels, { linkage: ["parcels"] }, linkage(1000)))).toEqual([]);
    expect(faultsOf(() => parseBody(parcels, { linkage: ["parcels"] }, linkage(1001)))[0]?.[1]).toContain(
      "At most 1000",
    );
    expect(
      faultsOf(() =>
        parseBody(parcels, { linkage: ["parcels"] }, { data: [{ type: "cats", id: "1" }, { type: "parcels" }] }),
      ).map(([pointer]) => pointer),
    ).toEqual(["/data/0", "/data/1"]);
  });
});

describe("queries", () => {
  const parse = (text: string) => {
    const raw = new Map([...new URLSearchParams(text)].map(([name, value]) => [name, [value]]));
    return parseQuery({ paged: true, sort: ["name"], include: ["owner"] }, raw);
  };

  it("have a page, a size of 20 and no order by default", () => {
    expect(parse("")).toMatchObject({ page: { number: 1, size: 20 }, sort: undefined, isPageRequested: false });
  });

  it("reduce a page size above 100 to 100", () => {
    expect(parse("page[size]=5000")).toMatchObject({ page: { size: 100 } });
    expect(parse("page[number]=99999999999999999999")).toMatchObject({ page: { number: 1_000_000_000 } });
  });

  it.each(["0", "-1", "1.5", "x", "", "1e3", " 1"])("refuse %j as a page", (value) => {
    expect(faultsOf(() => parse(`page[number]=${value}`)).map(([name]) => name)).toEqual(["page[number]"]);
  });

  it("read a leading minus as descending", () => {
    expect(parse("sort=-name")).toMatchObject({ sort: { key: "name", descending: true } });
    expect(faultsOf(() => parse("sort=--name"))[0]?.[0]).toBe("sort");
  });

  it("refuse an unknown include with the sentence that clients look for", () => {
    expect(faultsOf(() => parse("include=owner,cats"))[0]?.[1]).toContain("include parameter");
  });
});

describe("verification at start", () => {
  const verify = (changes: object, handlers: object = { showParcel: async () => {} }) =>
    verifyResources([{ definition: { ...parcels, ...changes }, handlers } as MountedResource<unknown>], ["owners"]);

  it("accepts consistent definitions", () => {
    expect(() => verify({})).not.toThrow();
  });

  it.each([
    [
      "a relationship that leads nowhere",
      { relationships: { owner: definitionBuilders().toOne("ghosts", "x", {}) } },
      /ghosts/,
    ],
    [
      "a route without a statement of who can call it",
      { operations: { showParcel: { ...parcels.operations.showParcel, needs: "" } } },
      /who can call it/,
    ],
    [
      "two operations on one route",
      {
        operations: {
          showParcel: parcels.operations.showParcel,
          again: { ...parcels.operations.showParcel, path: "/parcels/:id" },
        },
      },
      /same route/,
    ],
    ["an operation without a handler", { operations: { other: parcels.operations.showParcel } }, /no handler/],
    [
      "a second name used as the first",
      { attributes: { "terraform-version": definitionBuilders().required(text(), "x") } },
      /second name/,
    ],
    [
      "a body without an example",
      { operations: { showParcel: { ...parcels.operations.showParcel, method: "POST", body: "create" } } },
      /example/,
    ],
  ])("refuses %s", (_, changes, message) => {
    expect(() => verify(changes)).toThrow(message);
  });
});
