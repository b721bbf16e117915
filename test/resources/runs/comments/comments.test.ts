/** Comments on runs, and run events. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Caller, Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { advanceRun, makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let teamId: string;
let reader: Caller;
let planner: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  workspace = await makeRunnable(api, org.name);
  const [readers, planners] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
  await api.grantWorkspace(workspace.id, readers.id, "read");
  await api.grantWorkspace(workspace.id, planners.id, "plan");
  reader = await api.makeMember(org.name, [readers.id]);
  planner = await api.makeMember(org.name, [planners.id]);
  teamId = planners.id;
});

const newRun = (): Promise<Json> => makeRun(org.owner, workspace.id, { "plan-only": true });
const say = (caller: Caller, runId: string, body: unknown) =>
  caller.post(`/runs/${runId}/comments`, resource("comments", { body }));
const eventsOf = async (caller: Caller, runId: string, query = ""): Promise<Json> =>
  (await caller.get(`/runs/${runId}/run-events${query}`)).body;

describe("createComment", () => {
  it("201: with a run event that names the author, and an audit event", async () => {
    const run = await newRun();
    const answer = await say(planner, run.id, "Looks fine.");
    expect(answer.status).toBe(201);
    const comment = data(answer);
    expect(comment).toMatchObject({
      type: "comments",
      attributes: { body: "Looks fine." },
      relationships: { "run-event": { data: { type: "run-events" } } },
      links: { self: `/api/v2/comments/${comment.id}` },
    });
    expect(comment.id).toMatch(/^wsc-/);
    const event = data(await reader.get(`/run-events/${comment.relationships["run-event"].data.id}`));
    expect(event).toMatchObject({
      type: "run-events",
      attributes: { action: "commented", description: null },
      relationships: {
        actor: { data: { type: "users", id: planner.id } },
        comment: { data: { type: "comments", id: comment.id } },
        run: { data: { type: "runs", id: run.id } },
      },
    });
    const shown = data(await reader.get(`/runs/${run.id}`));
    expect(shown.relationships.comments.data).toEqual([{ type: "comments", id: comment.id }]);
    const auditEvents = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", comment.id)
      .execute();
    expect(auditEvents).toMatchObject([{ action: "comments.create", actorId: planner.id }]);
  });

  it("404: a caller who can only read", async () => {
    const run = await newRun();
    const answer = await say(reader, run.id, "No.");
    expect(answer.status).toBe(404);
    expect(details(answer)[0]).toContain("'plan' on the workspace's runs");
    expect((await reader.get(`/runs/${run.id}/comments`)).body.data).toEqual([]);
  });

  it("422: an empty or too long text", async () => {
    const run = await newRun();
    for (const body of ["", null, undefined, 7, "x".repeat(16_385)]) {
      const answer = await say(planner, run.id, body);
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/body"]);
    }
  });
});

describe("listComments, showComment", () => {
  it("lists all of them in order, and shows each", async () => {
    const run = await newRun();
    const ids: string[] = [];
    for (let count = 0; count < 25; count += 1) ids.push(data(await say(planner, run.id, `Word ${count}`)).id);
    const { body } = await reader.get(`/runs/${run.id}/comments`);
    expect(body.data.map(({ id }: Json) => id)).toEqual(ids);
    expect(body.meta).toBeUndefined();
    expect(data(await reader.get(`/comments/${ids[3]}`)).attributes.body).toBe("Word 3");
  });
});

describe("listRunEvents, showRunEvent", () => {
  it("lists all events in order", async () => {
    const run = await newRun();
    await advanceRun(api, run.id, "finished");
    await say(planner, run.id, "Done.");
    const { data: events, meta } = await eventsOf(reader, run.id);
    expect(events.map(({ attributes }: Json) => attributes.action).slice(0, 2)).toEqual(["created", "queued"]);
    expect(events.at(-1).attributes.action).toBe("commented");
    expect(meta).toBeUndefined();
    expect(events[0].relationships.actor.data).toEqual({ type: "users", id: run.relationships["created-by"].data.id });
    expect(events[0].attributes["created-at"]).toMatch(/^\d{4}-/);
    const first = data(await reader.get(`/run-events/${events[0].id}`));
    expect(first).toEqual(events[0]);
  });

  it("has no actor for events of agents and the server", async () => {
    const run = await newRun();
    await advanceRun(api, run.id, "planning");
    const { data: events } = await eventsOf(reader, run.id);
    expect(events.at(-1)).toMatchObject({
      attributes: { action: "planning" },
      relationships: { actor: { data: null }, comment: { data: null } },
    });
  });

  it("includes users, teams and comments, each once", async () => {
    const run = await newRun();
    const token = await api.makeTeamToken(teamId);
    await say(planner, run.id, "One.");
    await say(planner, run.id, "Two.");
    await say(token, run.id, "Three.");
    const { included } = await eventsOf(planner, run.id, "?include=actor,comment");
    const types = included.map(({ type }: Json) => type).toSorted();
    expect(types).toEqual(["comments", "comments", "comments", "teams", "users", "users"]);
    expect(included.find(({ id }: Json) => id === planner.id).attributes.username).toBe(planner.username);
    const event = (await eventsOf(planner, run.id)).data.at(-1);
    const shown = await planner.get(`/run-events/${event.id}?include=actor,comment`);
    expect(shown.body.included.map(({ type }: Json) => type).toSorted()).toEqual(["comments", "teams"]);
    expect((await planner.get(`/run-events/${event.id}?include=run`)).status).toBe(400);
  });
});
