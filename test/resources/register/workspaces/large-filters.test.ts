/** Filters by run and by keys of projects, in an organization that is large enough for walked pages and for totals from counters. */
import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { addMany, size } from "./large.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
  const template = await makeWorkspace(api, org.name, { name: "the-template" });
  await addMany(api, org, template.id, 0, size);
}, 120_000);

async function search(parameters: Record<string, string>): Promise<{ names: string[]; total: number }> {
  const query = new URLSearchParams({ "page[size]": "100", ...parameters });
  const answer = await api.admin.get(`/organizations/${org.name}/workspaces?${query}`);
  return {
    names: data(answer).map((item: Json) => item.attributes.name),
    total: answer.body.meta.pagination["total-count"],
  };
}

describe("listWorkspaces: runs in a large organization", () => {
  interface Run {
    readonly name: string;
    readonly id: string;
    readonly runAt: string | null;
    readonly status: string | null;
  }
  let runs: Run[];

  /** Several runs at each moment, and a tenth of the workspaces without any. */
  beforeAll(async () => {
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from workspaces where organization_id = ${org.id} order by id`.execute(api.database.reader.db);
    runs = rows.map(({ id, name }, number) => {
      const hasRun = number % 10 !== 0;
      const day = String(1 + ((number * 7919) % 28)).padStart(2, "0");
      return {
        id,
        name,
        runAt: hasRun ? `2026-02-${day}T00:00:00.000Z` : null,
        status: hasRun ? (number < 40 ? "planning" : number < 70 ? "errored" : "applied") : null,
      };
    });
    const kinds = Map.groupBy(runs, ({ runAt, status }) => JSON.stringify([runAt, status]));
    await api.database.write(async (tx) => {
      for (const [kind, members] of kinds) {
        const [currentRunCreatedAt, currentRunStatus] = JSON.parse(kind) as [string | null, string | null];
        const ids = members.map(({ id }) => id);
        for (let from = 0; from < ids.length; from += 500)
          await tx.db
            .updateTable("workspaces")
            .set({ currentRunCreatedAt, currentRunStatus })
            .where("id", "in", ids.slice(from, from + 500))
            .execute();
      }
    });
  });

  /** Those without a run come last in both directions, and ties by id. */
  const byRun = (descending: boolean) => (one: Run, two: Run) => {
    if (one.runAt === two.runAt) return one.id < two.id ? -1 : 1;
    if (one.runAt === null || two.runAt === null) return one.runAt === null ? 1 : -1;
    return one.runAt < two.runAt === descending ? 1 : -1;
  };

  it.each([false, true])("in the order of their runs, page after page; descending: %s", async (descending) => {
    const sort = `${descending ? "-" : ""}current-run.created-at`;
    const seen: string[] = [];
    for (let page = 1; page <= 26; page += 1)
      seen.push(...(await search({ sort, "page[number]": String(page) })).names);
    expect(seen).toEqual(runs.toSorted(byRun(descending)).map(({ name }) => name));
  });

  it.each([["planning"], ["applied"], ["planning", "errored"], ["applied", "errored"], ["canceled"]])(
    "with a status, few and many: %s %s",
    async (...statuses) => {
      const fitting = runs.filter(({ status }) => status !== null && statuses.includes(status));
      for (const page of [1, 3, 20]) {
        const asked = { "filter[current-run][status]": statuses.join(","), "page[number]": String(page) };
        const cut = (sorted: readonly string[]) => ({
          names: sorted.slice((page - 1) * 100, page * 100),
          total: fitting.length,
        });
        expect(await search(asked)).toEqual(cut(fitting.map(({ name }) => name).toSorted()));
        const latest = fitting.toSorted(byRun(true)).map(({ name }) => name);
        expect(await search({ ...asked, sort: "-current-run.created-at" })).toEqual(cut(latest));
      }
    },
  );
});

describe("listWorkspaces: a key of a large project that few workspaces override", () => {
  it("finds each inheriting workspace, and those that override the key by their own value", async () => {
    const { rows } = await sql<{ id: string; name: string; projectId: string }>`
      select id, name, project_id from workspaces where organization_id = ${org.id} order by id`.execute(
      api.database.reader.db,
    );
    const elsewhere = data(
      await api.admin.post(`/organizations/${org.name}/projects`, {
        data: { type: "projects", attributes: { name: "elsewhere" } },
      }),
    );
    const bindings = (value: string) => ({
      "tag-bindings": { data: [{ type: "tag-bindings", attributes: { key: "owned-by", value } }] },
    });
    const bind = async (type: string, id: string, value: string) =>
      data(await api.admin.patch(`/${type}/${id}`, { data: { type, id, relationships: bindings(value) } }));
    await bind("projects", rows[0]!.projectId, "us");
    await bind("projects", elsewhere.id, "them");
    const [same, changed, ...others] = rows;
    await bind("workspaces", same!.id, "us");
    await bind("workspaces", changed!.id, "them");
    // One that has the key itself without inheriting it from the large project.
    const apart = await makeWorkspace(
      api,
      org.name,
      { name: "apart" },
      { project: { data: { type: "projects", id: elsewhere.id } }, ...bindings("us") },
    );
    const ask = (value?: string, page = 1) =>
      search({
        "filter[tagged][0][key]": "owned-by",
        ...(value === undefined ? {} : { "filter[tagged][0][value]": value }),
        "page[number]": String(page),
      });
    const cut = (found: string[], page = 1) => ({
      names: found.toSorted().slice((page - 1) * 100, page * 100),
      total: found.length,
    });
    const ours = ["apart", same!.name, ...others.map(({ name }) => name)];
    for (const page of [1, 13, 26]) {
      expect(await ask("us", page)).toEqual(cut(ours, page));
      expect(await ask(undefined, page)).toEqual(cut([...ours, changed!.name], page));
    }
    expect(await ask("them")).toEqual(cut([changed!.name]));
    expect(await ask("nobody")).toEqual(cut([]));
    await api.admin.delete(`/workspaces/${apart.id}`);
  });
});
