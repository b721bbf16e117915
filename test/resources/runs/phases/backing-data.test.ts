/** Backing data of plans and applies: soft-deleted, restored, and permanently deleted. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org } from "../../../support/builders.ts";
import {
  storeEndedRun,
  storeFinishedPlan,
  logUrlOf,
  storeAssessment,
  type StoredRun,
} from "../../../support/phases.ts";

const api = useApi();
let org: Org;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  workspace = await api.makeWorkspace(org.name);
});

const kinds = [
  { kind: "plan", path: "plans", outputs: ["json-output", "json-output-redacted", "json-schema"] },
  { kind: "apply", path: "applies", outputs: ["errored-state"] },
] as const;
type Kind = (typeof kinds)[number]["kind"];

const pathOf = (run: StoredRun, kind: Kind) => `/${kind === "plan" ? "plans" : "applies"}/${run[kind].id}`;
const postAction = (run: StoredRun, kind: Kind, action: string, caller = org.owner) =>
  caller.post(`${pathOf(run, kind)}/actions/${action}-backing-data`);
const statusOf = async (run: StoredRun, kind: Kind) =>
  data(await org.owner.get(pathOf(run, kind))).attributes["backing-data-status"];
const log = async (run: StoredRun, kind: Kind) => (await fetch(await logUrlOf(api, run[kind].id))).status;
const readable = async (run: StoredRun, kind: Kind, outputs: readonly string[]) => {
  const answers = await Promise.all(outputs.map((name) => org.owner.get(`${pathOf(run, kind)}/${name}`)));
  return [...answers.map(({ status }) => status), await log(run, kind)];
};

describe.each(kinds)("the backing data of a $kind", ({ kind, path, outputs }) => {
  const all = (status: number) => Array.from({ length: outputs.length + 1 }, () => status);

  it("204: is soft-deleted, restored, soft-deleted again and permanently deleted, with an event for each", async () => {
    const run = await storeEndedRun(api, workspace, org.id);
    expect([await statusOf(run, kind), await readable(run, kind, outputs)]).toEqual(["present", all(200)]);
    expect((await postAction(run, kind, "soft-delete")).status).toBe(204);
    expect([await statusOf(run, kind), await readable(run, kind, outputs)]).toEqual([
      "backing_data_soft_deleted",
      all(404),
    ]);
    expect((await postAction(run, kind, "restore")).status).toBe(204);
    expect([await statusOf(run, kind), await readable(run, kind, outputs)]).toEqual(["present", all(200)]);
    for (const action of ["soft-delete", "permanently-delete"])
      expect((await postAction(run, kind, action)).status).toBe(204);
    expect([await statusOf(run, kind), await readable(run, kind, outputs)]).toEqual([
      "backing_data_permanently_deleted",
      all(404),
    ]);
    const events = data(
      await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${run[kind].id}`),
    );
    expect(events.map((event: Json) => event.attributes.action)).toEqual(
      ["permanently-delete", "soft-delete", "restore", "soft-delete"].map((verb) => `${path}.${verb}-backing-data`),
    );
  });

  it("does not affect the other phase", async () => {
    const run = await storeEndedRun(api, workspace, org.id);
    data(await postAction(run, kind, "soft-delete"));
    const other = kinds.find((each) => each.kind !== kind);
    expect(other && (await readable(run, other.kind, other.outputs))).not.toContain(404);
  });

  it("409: a change that its status does not allow", async () => {
    const run = await storeEndedRun(api, workspace, org.id);
    expect((await postAction(run, kind, "restore")).status).toBe(409);
    expect((await postAction(run, kind, "permanently-delete")).status).toBe(409);
    data(await postAction(run, kind, "soft-delete"));
    expect((await postAction(run, kind, "soft-delete")).status).toBe(409);
    data(await postAction(run, kind, "permanently-delete"));
    const refused = await postAction(run, kind, "restore");
    expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining("permanently_deleted")]);
  });

  it("409: while the run has not ended, its data is still needed", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id);
    const refused = await postAction(run, kind, "soft-delete");
    expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining("has not ended")]);
  });

  it.each([
    ["write", 403],
    ["admin", 204],
  ] as const)("with '%s' on the workspace: %i", async (level, status) => {
    const run = await storeEndedRun(api, workspace, org.id);
    const team = await api.makeTeam(org.name);
    const own = await api.makeMember(org.name, [team.id]);
    expect((await postAction(run, kind, "soft-delete", own)).status).toBe(404);
    await api.grantWorkspace(workspace.id, team.id, level);
    expect((await postAction(run, kind, "soft-delete", own)).status).toBe(status);
  });
});

it("hides a plan also from readers of its assessment", async () => {
  const run = await storeEndedRun(api, workspace, org.id);
  const id = await storeAssessment(api, { organizationId: org.id, workspaceId: workspace.id, runId: run.id });
  const paths = ["json-output", "json-schema", "log-output"].map((name) => `/assessment-results/${id}/${name}`);
  const statuses = () => Promise.all(paths.map(async (path) => (await org.owner.get(path)).status));
  expect(await statuses()).toEqual([200, 200, 200]);
  data(await postAction(run, "plan", "soft-delete"));
  expect(await statuses()).toEqual([404, 404, 404]);
});
