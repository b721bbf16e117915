/**
 * Totals that the database maintains with triggers: correct after every change, and deleted with their organization.
 */
import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, inProject, makeOrganization, makeProject, makeWorkspace, type Org } from "../../../support/builders.ts";
import { bound, setColumns } from "./support.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

async function total(parameters: Record<string, string>): Promise<number> {
  const query = new URLSearchParams(parameters);
  const answer = await org.owner.get(`/organizations/${org.name}/workspaces?${query}`);
  expect(data(answer)).toHaveLength(answer.body.meta.pagination["total-count"]);
  return answer.body.meta.pagination["total-count"];
}

const withKey = (key: string, value?: string) =>
  total({ "filter[tagged][0][key]": key, ...(value === undefined ? {} : { "filter[tagged][0][value]": value }) });
const inState = (...statuses: string[]) => total({ "filter[current-run][status]": statuses.join(",") });

const rows = async (text: string) => (await sql.raw(text).execute(api.database.reader.db)).rows;

/** The stored counters, and a new count of the rows: they must be equal after any change. */
async function expectSums(differences: "added" | "left out"): Promise<void> {
  const counted = (name: string, columns: string) =>
    rows(`select organization_id, ${columns}, cast(sum(number) as bigint) as number from (
      select * from ${name}_counts
      ${differences === "added" && !isEmbedded() ? `union all select * from ${name}_differences` : ""}) as c
      group by organization_id, ${columns} having ${differences === "added" ? "sum(number) <> 0" : "1 = 1"} order by 1, 2, 3`);
  expect(await counted("tag_binding", "key, value")).toEqual(
    await rows(`select organization_id, key, value, count(*) as number from tag_bindings
      where workspace_id is not null group by 1, 2, 3 order by 1, 2, 3`),
  );
  expect(await counted("run_status", "status")).toEqual(
    await rows(`select organization_id, current_run_status as status, count(*) as number from workspaces
      where current_run_status is not null group by 1, 2 order by 1, 2`),
  );
}

const isEmbedded = () => api.database.dialect.name === "sqlite";
const addUp = (most: number) => api.database.write((tx) => tx.dialect.counts.mergeDifferences(tx.db, most));

/** With pending differences, with some of them added up, and with none left: then no counter is 0. */
async function expectCounted(): Promise<void> {
  await expectSums("added");
  await addUp(3);
  await expectSums("added");
  while ((await addUp(10)) > 0);
  await expectSums("left out");
}

describe("listWorkspaces: filter[tagged] of keys that workspaces have themselves", () => {
  it("counts what is added, changed and removed", async () => {
    const project = await makeProject(api, org.name);
    const one = await makeWorkspace(api, org.name, {}, bound({ stage: "test", team: "a" }));
    const two = await makeWorkspace(api, org.name, {}, { ...inProject(project.id), ...bound({ stage: "test" }) });
    const three = await makeWorkspace(api, org.name, {}, bound({ stage: "live" }));
    expect([await withKey("stage"), await withKey("stage", "test"), await withKey("stage", "live")]).toEqual([3, 2, 1]);
    await expectCounted();

    const rebind = async (id: string, bindings: Record<string, string>) =>
      data(
        await org.owner.patch(`/workspaces/${id}`, {
          data: { type: "workspaces", id, relationships: bound(bindings) },
        }),
      );
    await rebind(one.id, { stage: "live" });
    expect([await withKey("stage", "test"), await withKey("stage", "live"), await withKey("team")]).toEqual([1, 2, 0]);
    await expectCounted();

    // A project's key is inherited, and not the workspace's own.
    const relationships = bound({ stage: "live", owner: "us" });
    data(
      await org.owner.patch(`/projects/${project.id}`, { data: { type: "projects", id: project.id, relationships } }),
    );
    expect([await withKey("owner", "us"), await withKey("stage", "live")]).toEqual([1, 2]);
    await expectCounted();

    await rebind(two.id, {});
    expect([await withKey("stage", "test"), await withKey("stage", "live")]).toEqual([0, 3]);
    await org.owner.delete(`/workspaces/${three.id}`);
    expect([await withKey("stage"), await withKey("stage", "live")]).toEqual([2, 2]);
    await expectCounted();
  });
});

describe("listWorkspaces: filter[current-run][status]", () => {
  it("counts runs that start, proceed, are deleted, and are deleted with their workspace", async () => {
    const { id } = await makeWorkspace(api, org.name);
    const other = await makeWorkspace(api, org.name);
    for (const each of [id, other.id]) await setColumns(api, each, { currentRunStatus: "planning" });
    expect([await inState("planning"), await inState("planning", "applied", "planning")]).toEqual([2, 2]);
    await setColumns(api, id, { currentRunStatus: "applied" });
    await setColumns(api, id, { currentRunStatus: "applied", description: "still" });
    expect([await inState("planning"), await inState("applied"), await inState("planning", "applied")]).toEqual([
      1, 1, 2,
    ]);
    await expectCounted();
    await setColumns(api, id, { currentRunStatus: null });
    await org.owner.delete(`/workspaces/${other.id}`);
    expect([await inState("planning"), await inState("applied")]).toEqual([0, 0]);
    await expectCounted();
  });
});

describe("an organization that is deleted", () => {
  it("leaves no counters", async () => {
    const gone = await makeOrganization(api);
    const { id } = await makeWorkspace(api, gone.name, {}, bound({ stage: "test" }));
    await setColumns(api, id, { currentRunStatus: "applied" });
    await expectCounted();
    await api.admin.delete(`/organizations/${gone.name}`);
    await expectCounted();
  });
});

describe("concurrent changes", () => {
  it("are each counted once, also while differences are added up", async () => {
    const many = await makeOrganization(api);
    const over = new AbortController();
    const adding = (async () => {
      while (!over.signal.aborted) await addUp(5);
    })();
    const made = await Promise.all(
      Array.from({ length: 12 }, async (_, number) => {
        const { id } = await makeWorkspace(api, many.name, {}, bound({ stage: "test", number: `${number % 3}` }));
        await setColumns(api, id, { currentRunStatus: "planning" });
        await setColumns(api, id, { currentRunStatus: number % 2 === 0 ? "applied" : "errored" });
        return id;
      }),
    );
    await Promise.all(made.slice(0, 4).map((id) => many.owner.delete(`/workspaces/${id}`)));
    over.abort();
    await adding;
    const totals = await Promise.all(
      [
        "filter[current-run][status]=applied",
        "filter[tagged][0][key]=stage",
        "filter[tagged][0][key]=number&filter[tagged][0][value]=1",
      ].map(
        async (query) =>
          (await many.owner.get(`/organizations/${many.name}/workspaces?${query}`)).body.meta.pagination["total-count"],
      ),
    );
    expect(totals).toEqual([4, 8, 3]);
    await expectCounted();
  });
});
