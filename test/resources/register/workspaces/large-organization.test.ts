/**
 * Lists of an organization that is large enough for counters, the name index and the order of the walk to matter: names that are
 * indexed and names that are not indexed yet, few matches and many, pages near either end. The oracle checks every workspace.
 */
import { CompiledQuery, sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyClosedOrganizations } from "../../../../src/resources/identity/organizations/emptying.ts";
import { jobContextOf } from "../../../support/states.ts";
import { largeOrganizations } from "../../../../src/database/migrations/0013-large-organizations.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Org } from "../../../support/builders.ts";
import { runsEverything } from "../../../support/engine-independent.ts";
import { addMany, nameOf, size } from "./large.ts";

const api = useApi();

let org: Org;
let other: Org;
let names: string[];

beforeAll(async () => {
  org = await api.makeOrganization();
  other = await api.makeOrganization();
  const template = await api.makeWorkspace(org.name, { name: "the-template" });
  names = ["the-template", ...(await addMany(api, org, template.id, 0, size))];
  const foreign = await api.makeWorkspace(other.name, { name: "payroll-elsewhere" });
  await addMany(api, other, foreign.id, 0, 300);
}, 120_000);

async function search(
  parameters: Record<string, string>,
  caller: Caller = api.admin,
): Promise<{ names: string[]; total: number }> {
  const query = new URLSearchParams({ "page[size]": "100", ...parameters });
  const answer = await caller.get(`/organizations/${org.name}/workspaces?${query}`);
  return {
    names: data(answer).map((item: Json) => item.attributes.name),
    total: answer.body.meta.pagination["total-count"],
  };
}

function expected(fits: (name: string) => boolean, page = 1): { names: string[]; total: number } {
  const found = names.filter((name) => fits(name.toLowerCase())).toSorted();
  return { names: found.slice((page - 1) * 100, page * 100), total: found.length };
}

const inside = (part: string) => (name: string) =>
  part
    .toLowerCase()
    .split(" ")
    .every((word) => name.includes(word));

describe("listWorkspaces: search[name] in a large organization", () => {
  it.each([
    "payroll",
    "PAYROLL",
    "-79",
    "-791",
    "network",
    "rod",
    "_prod",
    "-",
    "o",
    "ay",
    "AY",
    "-7",
    "er",
    "d",
    "od",
    "zq",
    "zzz",
    "net%ork",
    'a"b c',
    "network-7919_prod",
    "prod network",
    "PROD pay",
    "79 od 1",
    "od ne",
    "o 7",
  ])("finds exactly those with %s in their names", async (part) => {
    expect(await search({ "search[name]": part })).toEqual(expected(inside(part)));
  });

  it.each([2, 7, 13, 40])("pages through many: page %i", async (page) => {
    expect(await search({ "search[name]": "network", "page[number]": String(page) })).toEqual(
      expected(inside("network"), page),
    );
    expect(await search({ "search[name]": "prod", "page[number]": String(page) })).toEqual(
      expected(inside("prod"), page),
    );
  });

  it("sorts what it finds, few and many", async () => {
    for (const part of ["payroll", "prod"]) {
      const all = expected(inside(part));
      const descending = names
        .filter((name) => inside(part)(name.toLowerCase()))
        .toSorted()
        .toReversed();
      expect(await search({ "search[name]": part, sort: "-name" })).toEqual({
        names: descending.slice(0, 100),
        total: all.total,
      });
    }
  });
});

describe("listWorkspaces: search[wildcard-name] in a large organization", () => {
  it.each([
    "*ayrol*",
    "pay*prod",
    "*_prod",
    "*work-1*",
    "net*",
    "ne*",
    "*ay*",
    "*-7*_p*",
    "*od",
    "*zzz*",
    "*a*",
    "the-template",
  ])("finds exactly %s", async (pattern) => {
    const like = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
    expect(await search({ "search[wildcard-name]": pattern })).toEqual(expected((name) => like.test(name)));
  });

  it("together with search[name]", async () => {
    const found = await search({ "search[wildcard-name]": "*_prod", "search[name]": "payroll" });
    expect(found).toEqual(expected(inside("payroll")));
  });
});

describe("listWorkspaces: tags that most workspaces of a large organization have", () => {
  /** Each flat tag with a condition on the numbers of the workspaces that have it. */
  const hasTag = {
    most: (number: number) => number % 10 !== 0,
    key: (number: number) => number % 10 < 9,
    few: (number: number) => number % 500 === 7,
  };
  const isBound = (number: number) => number % 20 === 19;
  /** Without the tag that is a key, too. */
  const isMostAlone = (number: number) => hasTag.most(number) && !hasTag.key(number) && !isBound(number);

  beforeAll(async () => {
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from workspaces where organization_id = ${org.id}`.execute(api.database.reader.db);
    const numbered = rows.flatMap((row) => {
      const number = Number(/^ws-.{8}(\d+)$/.exec(row.id)?.[1] ?? -1);
      return number < 0 || row.name === "the-template" ? [] : [{ ...row, number }];
    });
    const createdAt = "2026-01-01T00:00:00.000Z";
    const ofProject = { type: "tag-bindings", attributes: { key: "other", value: "w" } };
    const project = await api.database.reader.db
      .selectFrom("workspaces")
      .select("projectId")
      .where("organizationId", "=", org.id)
      .executeTakeFirstOrThrow();
    const relationships = { "tag-bindings": { data: [ofProject] } };
    data(await api.admin.patch(`/projects/${project.projectId}`, { data: { type: "projects", relationships } }));
    await api.database.write(async (tx) => {
      // Most have their own value for the key that their project has, too.
      const overriding = numbered.filter(({ number }) => number % 8 !== 0);
      for (let from = 0; from < overriding.length; from += 500)
        await tx.db
          .insertInto("tagBindings")
          .values(
            overriding.slice(from, from + 500).map(({ id: workspaceId }) => ({
              id: `tb-other${workspaceId}`,
              organizationId: org.id,
              workspaceId,
              projectId: null,
              key: "other",
              value: "v",
              createdAt,
            })),
          )
          .execute();
      for (const [name, fits] of Object.entries(hasTag)) {
        const carriers = numbered.filter(({ number }) => fits(number));
        const id = `tag-${name}`;
        const tag = { id, organizationId: org.id, name, instanceCount: carriers.length, createdAt, version: 1 };
        await tx.db.insertInto("tags").values(tag).execute();
        for (let from = 0; from < carriers.length; from += 500) {
          const links = carriers
            .slice(from, from + 500)
            .map(({ id: workspaceId }) => ({ organizationId: org.id, workspaceId, tagId: id, createdAt }));
          await tx.db.insertInto("workspaceTags").values(links).execute();
        }
      }
      // The name of one tag is a key, too: on workspaces that have the tag, and on others.
      const bindings = numbered
        .filter(({ number }) => isBound(number))
        .map(({ id }) => ({
          id: `tb-${id}`,
          organizationId: org.id,
          workspaceId: id,
          projectId: null,
          key: "key",
          value: "",
        }));
      await tx.db
        .insertInto("tagBindings")
        .values(bindings.map((binding) => ({ ...binding, createdAt })))
        .execute();
    });
  });

  const expectedOf = (fits: (number: number) => boolean, page: number, withTemplate: boolean) => {
    const found = Array.from({ length: size }, (_, number) => number)
      .filter(fits)
      .map(nameOf);
    const sorted = [...found, ...(withTemplate ? ["the-template"] : [])].toSorted();
    return { names: sorted.slice((page - 1) * 100, page * 100), total: sorted.length };
  };
  const hasKey = (number: number) => hasTag.key(number) || isBound(number);

  it.each([1, 9, 22, 26])("finds those with one, and those without: page %i", async (page) => {
    const asked = { "page[number]": String(page) };
    for (const [name, fits] of [
      ["most", hasTag.most],
      ["key", hasKey],
      ["few", hasTag.few],
    ] as const) {
      expect(await search({ ...asked, "search[tags]": name }), name).toEqual(expectedOf(fits, page, false));
      const without = (number: number) => !fits(number);
      expect(await search({ ...asked, "search[exclude-tags]": name }), name).toEqual(expectedOf(without, page, true));
    }
    for (const [name, fits] of [
      ["most", hasTag.most],
      ["key", hasKey],
      ["few", hasTag.few],
    ] as const)
      expect(await search({ ...asked, "filter[tagged][0][key]": name }), name).toEqual(expectedOf(fits, page, false));
    const valued = { "filter[tagged][0][key]": "other", "filter[tagged][0][value]": "v" };
    expect(await search({ ...asked, ...valued })).toEqual(expectedOf((number) => number % 8 !== 0, page, false));
    expect(await search({ ...asked, "filter[tagged][0][key]": "other" })).toEqual(expectedOf(() => true, page, true));
    expect(await search({ ...asked, "search[exclude-tags]": "few,nothing,most" })).toEqual(
      expectedOf((number) => !hasTag.few(number) && !hasTag.most(number), page, true),
    );
    expect(await search({ ...asked, "search[exclude-tags]": "nothing" })).toEqual(expectedOf(() => true, page, true));
    expect(await search({ ...asked, "search[tags]": "nothing" })).toEqual({ names: [], total: 0 });
    expect(await search({ ...asked, "search[tags]": "most,key" })).toEqual(
      expectedOf((number) => hasTag.most(number) && hasKey(number), page, false),
    );
  });

  describe("listed by members, too", () => {
    /** One can read more workspaces than are looked up one by one; the other only one, although others have the same tags. */
    let [many, one]: (Caller | undefined)[] = [];
    const chosen = 507;

    beforeAll(async () => {
      const [ofMany, ofOne] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
      const { id, relationships } = data(
        await api.admin.get(`/organizations/${org.name}/workspaces/${nameOf(chosen)}`),
      );
      await api.grantProject(relationships.project.data.id, ofMany.id, "read");
      await api.grantWorkspace(id, ofOne.id, "read");
      many = await api.makeMember(org.name, [ofMany.id]);
      one = await api.makeMember(org.name, [ofOne.id]);
    });

    it.each<[string, Record<string, string>, (number: number) => boolean]>([
      ["the narrower of two tags first", { "search[tags]": "most,few" }, hasTag.few],
      ["the narrower of two tags last", { "search[tags]": "few,most" }, hasTag.few],
      [
        "tags that many workspaces have",
        { "search[tags]": "most,key" },
        (number) => hasTag.most(number) && hasKey(number),
      ],
      ["a tag and a key", { "search[tags]": "few", "filter[tagged][0][key]": "other" }, hasTag.few],
      [
        "a tag, and a value that not all have",
        { "search[tags]": "key", "filter[tagged][0][key]": "other", "filter[tagged][0][value]": "v" },
        (number) => hasKey(number) && number % 8 !== 0,
      ],
      ["a tag and a name", { "search[tags]": "few", "search[name]": "net" }, () => false],
      ["a tag and not another", { "search[tags]": "most", "search[exclude-tags]": "key" }, isMostAlone],
      ["a tag that no workspace has, and one that many have", { "search[tags]": "most,nothing" }, () => false],
    ])("%s", async (_, asked, fits) => {
      const found = expectedOf(fits, 1, false);
      expect(await search(asked)).toEqual(found);
      expect(await search(asked, many)).toEqual(found);
      const own = fits(chosen) ? [nameOf(chosen)] : [];
      expect(await search(asked, one)).toEqual({ names: own, total: own.length });
    });
  });
});

describe("listWorkspaces: deep pages", () => {
  const keys = ["name", "latest-change-at", "current-run.created-at"];
  // Both engines walk in both directions; for the second engine, one direction of each key is enough.
  const sorts = runsEverything
    ? keys.flatMap((key) => [key, `-${key}`])
    : ["-name", "latest-change-at", "-current-run.created-at"];
  it.each(sorts)("read from either end, return each workspace once: sort=%s", async (sort) => {
    const seen: string[] = [];
    for (let page = 1; page <= 27; page += 1)
      seen.push(...(await search({ sort, "page[number]": String(page) })).names);
    expect(seen).toHaveLength(names.length);
    expect(seen.toSorted()).toEqual(names.toSorted());
    if (sort === "name") expect(seen).toEqual(names.toSorted());
    if (sort === "-name") expect(seen).toEqual(names.toSorted().toReversed());
  });
});

describe("a database from before the index existed", () => {
  it("has all its names indexed by the migration", async () => {
    const { name: engine } = api.database.dialect;
    const run = async (statements: readonly string[]) =>
      api.database.write(async (tx) => {
        for (const statement of statements) await tx.db.executeQuery(CompiledQuery.raw(statement));
      });
    const made = (largeOrganizations.only?.[engine] ?? []).flatMap(
      (statement) =>
        /^CREATE (?:VIRTUAL )?(TABLE|TRIGGER|INDEX|FUNCTION) (\w+)/.exec(statement)?.slice(1, 3).join(" ") ?? [],
    );
    await run(made.toReversed().map((what) => `DROP ${what}`));
    await run(largeOrganizations.only?.[engine] ?? []);
    for (const part of ["payroll", "-791", "network", "prod", "zzz"])
      expect(await search({ "search[name]": part })).toEqual(expected(inside(part)));
  });
});

describe("changes of a name", () => {
  const change = async (from: string, to: string) => {
    const workspace = data(await api.admin.get(`/organizations/${org.name}/workspaces/${from}`));
    const attributes = { name: to };
    data(
      await api.admin.patch(`/workspaces/${workspace.id}`, {
        data: { type: "workspaces", id: workspace.id, attributes },
      }),
    );
    names = names.map((name) => (name === from ? to : name));
  };

  it("changed: found by the new one, not by the old one", async () => {
    await change(nameOf(3), "Accounts-one");
    await change(nameOf(size - 1), "Accounts-two");
    for (const part of ["accounts", "payroll", nameOf(3), nameOf(size - 1)])
      expect(await search({ "search[name]": part })).toEqual(expected(inside(part)));
    await change("Accounts-one", "accounts-ONE");
    expect(await search({ "search[name]": "accounts-one" })).toEqual(expected(inside("accounts-one")));
  });

  it("removed: not found, whether it was already indexed or not", async () => {
    for (const name of [nameOf(503), "Accounts-two", nameOf(size - 2)]) {
      await api.admin.delete(`/organizations/${org.name}/workspaces/${name}`);
      names = names.filter((each) => each !== name);
    }
    for (const part of ["payroll", "accounts", "network", "prod"])
      expect(await search({ "search[name]": part })).toEqual(expected(inside(part)));
  });

  it("shorter than what is indexed: found by the whole name, together with names that contain it", async () => {
    for (const name of ["Qj", "qJ", "x-qj", "q"]) await api.makeWorkspace(org.name, { name });
    names.push("Qj", "qJ", "x-qj", "q");
    const all = { "search[wildcard-name]": "*qj*" };
    expect(await search({ "search[name]": "qj" })).toEqual(expected(inside("qj")));
    expect(await search(all)).toEqual(expected(inside("qj")));
    expect(await search({ "search[wildcard-name]": "qj" })).toEqual(expected((name) => name === "qj"));
    // No longer among the names that are not indexed yet.
    const { id } = data(await api.admin.get(`/organizations/${org.name}/workspaces/q`));
    names.push(...(await addMany(api, org, id, 2 * size, 2 * size + 300)));
    expect(await search({ "search[name]": "qj" })).toEqual(expected(inside("qj")));
    expect(await search(all)).toEqual(expected(inside("qj")));
    expect(await search({ ...all, "search[name]": "x-q" })).toEqual(expected((name) => name === "x-qj"));
  });

  it("added: found immediately, and after many more have been added", async () => {
    const later = await api.makeWorkspace(org.name, { name: "added-Later" });
    names.push("added-Later");
    expect(await search({ "search[name]": "later" })).toEqual(expected(inside("later")));
    names.push(...(await addMany(api, org, later.id, size, size + 300)));
    for (const part of ["later", "payroll", "network", "prod"])
      expect(await search({ "search[name]": part })).toEqual(expected(inside(part)));
  });

  it("deleted with its organization: nothing remains, and other organizations keep theirs", async () => {
    await api.admin.delete(`/organizations/${other.name}`);
    await emptyClosedOrganizations(jobContextOf(api));
    expect(await search({ "search[name]": "payroll" })).toEqual(expected(inside("payroll")));
    if (api.database.dialect.name === "postgres") return;
    const left = async (table: string) => {
      const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
        api.database.reader.db,
      );
      return rows[0]?.count;
    };
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from workspace_name_parts where workspace_name_parts match '"payroll"'`.execute(
      api.database.reader.db,
    );
    expect(await left("workspace_name_ranges")).toBe(await left("organizations"));
    expect(await left("workspace_names")).toBe(await left("workspaces"));
    expect(rows[0]?.count).toBeLessThanOrEqual(expected(inside("payroll")).total);
  });
});
