/** Destruction of inactive workspaces: inherited from the project, overridden, cleared, and when it is due. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { durationsAccepted } from "../projects/limits.ts";
import { at, faults, pathById, setColumns } from "./support.ts";

const api = useApi();
let org: Org;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  project = await api.makeProject(org.name, { "auto-destroy-activity-duration": "14d" });
});

const hour = 3_600_000;
const make = (attributes: object = {}, projectId = project.id) =>
  api.makeWorkspace(org.name, attributes, inProject(projectId));
const update = async (workspace: Json, attributes: object, relationships?: object) =>
  data(await org.owner.patch(pathById(workspace), resource("workspaces", attributes, relationships)));
const shown = async (workspace: Json) => data(await org.owner.get(pathById(workspace)));
const after = (instant: string, milliseconds: number) => new Date(Date.parse(instant) + milliseconds).toISOString();
const destruction = ({ attributes }: Json) => ({
  duration: attributes["auto-destroy-activity-duration"],
  inherits: attributes["inherits-project-auto-destroy"],
  at: attributes["auto-destroy-at"],
  status: attributes["auto-destroy-status"],
});
const due = (workspace: Json, duration: string, inherits: boolean, milliseconds: number) => ({
  duration,
  inherits,
  at: after(workspace.attributes["created-at"], milliseconds),
  status: "scheduled",
});
const never = (inherits: boolean) => ({ duration: null, inherits, at: null, status: null });
const soon = "2031-05-06T07:08:09.000Z";

describe("createWorkspace: auto-destroy", () => {
  it("inherits the project's duration", async () => {
    const workspace = await make();
    expect(destruction(workspace)).toEqual(due(workspace, "14d", true, 14 * 24 * hour));
    expect(await shown(workspace)).toEqual(workspace);
  });

  it("has none in a project without", async () => {
    expect(destruction(await make({}, org.defaultProjectId))).toEqual(never(true));
  });

  it("its own value is an override", async () => {
    const workspace = await make({ "auto-destroy-activity-duration": "36h" });
    expect(destruction(workspace)).toEqual(due(workspace, "36h", false, 36 * hour));
  });

  it("null is an override too", async () => {
    expect(destruction(await make({ "auto-destroy-activity-duration": null }))).toEqual(never(false));
  });

  it("a time replaces the inherited duration", async () => {
    expect(destruction(await make({ "auto-destroy-at": soon }))).toEqual({
      duration: null,
      inherits: false,
      at: soon,
      status: "scheduled",
    });
  });

  it("a null time is no override", async () => {
    const workspace = await make({ "auto-destroy-at": null });
    expect(destruction(workspace)).toEqual(due(workspace, "14d", true, 14 * 24 * hour));
  });

  it("a time in another zone is shown in UTC", async () => {
    const workspace = await make({ "auto-destroy-at": "2031-05-06T09:08:09+02:00" });
    expect(workspace.attributes["auto-destroy-at"]).toBe(soon);
  });

  it("accepts inherits-project-auto-destroy", async () => {
    const workspace = await make({ "inherits-project-auto-destroy": true });
    expect(destruction(workspace)).toEqual(due(workspace, "14d", true, 14 * 24 * hour));
  });

  it.each([
    { "inherits-project-auto-destroy": true, "auto-destroy-activity-duration": "1d" },
    { "inherits-project-auto-destroy": true, "auto-destroy-at": soon },
  ])("inheriting and a value of its own are refused: %j", async (attributes) => {
    const body = resource("workspaces", { name: unique("ws"), ...attributes });
    const answer = await org.owner.post(`/organizations/${org.name}/workspaces`, body);
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([
      at(
        "inherits-project-auto-destroy",
        "Inherits project auto destroy can't be true together with a schedule for this workspace; send one of them",
      ),
    ]);
  });

  it.each(durationsAccepted)("takes the duration %j", async (duration) => {
    const made = await make({ "auto-destroy-activity-duration": duration });
    expect(made.attributes["auto-destroy-activity-duration"]).toBe(duration);
  });
});

describe("updateWorkspace: auto-destroy", () => {
  it("absent keys keep what is inherited and what is its own", async () => {
    const [heir, own] = [await make(), await make({ "auto-destroy-activity-duration": "2h" })];
    expect(destruction(await update(heir, { description: "x" }))).toEqual(destruction(heir));
    expect(destruction(await update(own, { description: "x" }))).toEqual(destruction(own));
  });

  it("a value overrides, null clears, and inheriting again drops the override", async () => {
    const workspace = await make();
    expect(destruction(await update(workspace, { "auto-destroy-activity-duration": "3h" }))).toEqual(
      due(workspace, "3h", false, 3 * hour),
    );
    expect(destruction(await update(workspace, { "auto-destroy-activity-duration": null }))).toEqual(never(false));
    expect(destruction(await update(workspace, { "inherits-project-auto-destroy": true }))).toEqual(
      due(workspace, "14d", true, 14 * 24 * hour),
    );
    expect(await shown(workspace)).toMatchObject({ attributes: { "auto-destroy-activity-duration": "14d" } });
  });

  it("inherits-project-auto-destroy false keeps the present duration as its own", async () => {
    const workspace = await make();
    expect(destruction(await update(workspace, { "inherits-project-auto-destroy": false }))).toEqual(
      due(workspace, "14d", false, 14 * 24 * hour),
    );
  });

  it("inherits-project-auto-destroy false keeps the project's changed duration, and later changes don't apply", async () => {
    const workspace = await make();
    const change = (duration: string) =>
      org.owner.patch(`/projects/${project.id}`, resource("projects", { "auto-destroy-activity-duration": duration }));
    await change("2d");
    await update(workspace, { "inherits-project-auto-destroy": false });
    await change("9d");
    expect(destruction(await shown(workspace))).toEqual(due(workspace, "2d", false, 48 * hour));
  });

  it("a time replaces a duration and the reverse, and a null duration clears either", async () => {
    const workspace = await make({ "auto-destroy-activity-duration": "3h" });
    const timed = { duration: null, inherits: false, at: soon, status: "scheduled" };
    expect(destruction(await update(workspace, { "auto-destroy-at": soon }))).toEqual(timed);
    expect(destruction(await update(workspace, { "auto-destroy-activity-duration": "5d" }))).toEqual(
      due(workspace, "5d", false, 5 * 24 * hour),
    );
    expect(destruction(await update(workspace, { "auto-destroy-activity-duration": null }))).toEqual(never(false));
    await update(workspace, { "auto-destroy-at": soon });
    expect(destruction(await update(workspace, { "auto-destroy-activity-duration": null }))).toEqual(never(false));
  });

  describe("auto-destroy-at null ends the schedule, and the workspace inherits again", () => {
    const ended = (workspace: Json, beside: object = {}) => update(workspace, { "auto-destroy-at": null, ...beside });
    const owns: [string, object][] = [
      ["a time of its own", { "auto-destroy-at": soon }],
      ["a duration of its own", { "auto-destroy-activity-duration": "3h" }],
      ["a cleared duration", { "auto-destroy-activity-duration": null }],
      ["nothing of its own", {}],
    ];

    it.each(owns)("after %s, in a project with a duration", async (_, own) => {
      const workspace = await make(own);
      expect(destruction(await ended(workspace))).toEqual(due(workspace, "14d", true, 14 * 24 * hour));
      expect(destruction(await shown(workspace))).toEqual(due(workspace, "14d", true, 14 * 24 * hour));
    });

    it.each(owns)("after %s, in a project without", async (_, own) => {
      expect(destruction(await ended(await make(own, org.defaultProjectId)))).toEqual(never(true));
    });

    it("keeps a duration sent in the same request", async () => {
      const workspace = await make({ "auto-destroy-at": soon });
      const changed = await ended(workspace, { "auto-destroy-activity-duration": "5d" });
      expect(destruction(changed)).toEqual(due(workspace, "5d", false, 5 * 24 * hour));
    });

    it("does not inherit if the request says so, or sends a null duration", async () => {
      const workspace = await make({ "auto-destroy-activity-duration": "3h" });
      expect(destruction(await ended(workspace, { "inherits-project-auto-destroy": false }))).toEqual(never(false));
      await update(workspace, { "auto-destroy-at": soon });
      expect(destruction(await ended(workspace, { "auto-destroy-activity-duration": null }))).toEqual(never(false));
    });

    it("together with a move, the new project's duration is inherited", async () => {
      const target = await api.makeProject(org.name, { "auto-destroy-activity-duration": "7d" });
      const own = await make({ "auto-destroy-at": soon });
      const moved = await update(own, { "auto-destroy-at": null }, inProject(target.id));
      expect(destruction(moved)).toEqual(due(own, "7d", true, 7 * 24 * hour));
    });

    it("a later value of the project applies", async () => {
      const workspace = await make({ "auto-destroy-activity-duration": "3h" });
      await ended(workspace);
      const body = resource("projects", { "auto-destroy-activity-duration": "2d" });
      data(await org.owner.patch(`/projects/${project.id}`, body));
      expect(destruction(await shown(workspace))).toEqual(due(workspace, "2d", true, 48 * hour));
    });
  });

  it("inheriting drops a chosen time as well", async () => {
    const workspace = await make({ "auto-destroy-at": soon });
    expect(destruction(await update(workspace, { "inherits-project-auto-destroy": true }))).toEqual(
      due(workspace, "14d", true, 14 * 24 * hour),
    );
  });

  it("inheriting together with its own value is refused, with null it is not", async () => {
    const workspace = await make();
    const both = { "inherits-project-auto-destroy": true, "auto-destroy-activity-duration": "1d" };
    const answer = await org.owner.patch(pathById(workspace), resource("workspaces", both));
    expect(faults(answer).map(([pointer]) => pointer)).toEqual(["/data/attributes/inherits-project-auto-destroy"]);
    const cleared = { "inherits-project-auto-destroy": true, "auto-destroy-activity-duration": null };
    expect(destruction(await update(workspace, cleared))).toMatchObject({ duration: "14d", inherits: true });
  });
});

describe("a project's new value", () => {
  const change = async (duration: string | null) =>
    data(
      await org.owner.patch(
        `/projects/${project.id}`,
        resource("projects", { "auto-destroy-activity-duration": duration }),
      ),
    );

  it("applies to every workspace without an override, and to no other", async () => {
    const heirs = [await make(), await make()];
    const own = await make({ "auto-destroy-activity-duration": "3h" });
    const cleared = await make({ "auto-destroy-activity-duration": null });
    const timed = await make({ "auto-destroy-at": soon });
    const elsewhere = await make({}, (await api.makeProject(org.name, { "auto-destroy-activity-duration": "9d" })).id);
    await change("2d");
    for (const heir of heirs) expect(destruction(await shown(heir))).toEqual(due(heir, "2d", true, 48 * hour));
    for (const other of [own, cleared, timed, elsewhere])
      expect(destruction(await shown(other))).toEqual(destruction(other));
    await change(null);
    for (const heir of heirs) expect(destruction(await shown(heir))).toEqual(never(true));
  });

  it("applies to a workspace created before the project had one, and to one that inherits again", async () => {
    await change(null);
    const [early, returned] = [await make(), await make({ "auto-destroy-activity-duration": "3h" })];
    await update(returned, { "inherits-project-auto-destroy": true });
    await change("4h");
    for (const workspace of [early, returned])
      expect(destruction(await shown(workspace))).toEqual(due(workspace, "4h", true, 4 * hour));
  });

  it("changes the ETags of inheriting workspaces, so that a stale change is refused", async () => {
    const heir = await make();
    const tag = (await org.owner.get(pathById(heir))).headers.get("etag") ?? "";
    await change("2d");
    const body = resource("workspaces", { "auto-destroy-activity-duration": "1d" });
    expect((await org.owner.patch(pathById(heir), body, { "if-match": tag })).status).toBe(412);
  });
});

describe("in another project", () => {
  it("inherits from the new project; an override stays", async () => {
    const target = await api.makeProject(org.name, { "auto-destroy-activity-duration": "7d" });
    const [heir, own] = [await make(), await make({ "auto-destroy-activity-duration": "3h" })];
    expect(destruction(await update(heir, {}, inProject(target.id)))).toEqual(due(heir, "7d", true, 7 * 24 * hour));
    expect(destruction(await update(own, {}, inProject(target.id)))).toEqual(destruction(own));
    expect(destruction(await update(heir, {}, inProject(org.defaultProjectId)))).toEqual(never(true));
  });

  it("a move that also returns to inheriting takes the new project's", async () => {
    const target = await api.makeProject(org.name, { "auto-destroy-activity-duration": "7d" });
    const own = await make({ "auto-destroy-activity-duration": "3h" });
    const moved = await update(own, { "inherits-project-auto-destroy": true }, inProject(target.id));
    expect(destruction(moved)).toEqual(due(own, "7d", true, 7 * 24 * hour));
  });
});

describe("auto-destroy-at", () => {
  const instants = ["2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z", "2029-01-01T00:00:00.000Z"] as const;
  const [first, second, third] = instants;

  it.each<[string, { createdAt: string; latestChangeAt: string; currentRunCreatedAt: string | null }, string]>([
    ["its creation", { createdAt: third, latestChangeAt: first, currentRunCreatedAt: second }, third],
    ["a state version", { createdAt: first, latestChangeAt: third, currentRunCreatedAt: second }, third],
    ["a run", { createdAt: first, latestChangeAt: second, currentRunCreatedAt: third }, third],
    [
      "a state version where there is no run",
      { createdAt: first, latestChangeAt: second, currentRunCreatedAt: null },
      second,
    ],
  ])("counts from the last activity: %s", async (_, columns, latest) => {
    const workspace = await make();
    await setColumns(api, workspace.id, columns);
    expect((await shown(workspace)).attributes["auto-destroy-at"]).toBe(after(latest, 14 * 24 * hour));
  });

  it.each(["queued", "errored"])("shows the status %s that a destruction has reached", async (status) => {
    const workspace = await make();
    await setColumns(api, workspace.id, { autoDestroyStatus: status });
    expect((await shown(workspace)).attributes["auto-destroy-status"]).toBe(status);
  });
});
