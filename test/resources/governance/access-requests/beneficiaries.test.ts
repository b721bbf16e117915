/** Whatever is requested: nobody approves its own request, or what gives itself or one of its teams more, or for longer. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { organizationWideMaskOf } from "../../../../src/access/organization.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { inProject, type Member, onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";
import { approve, makeRequest, readRequest } from "../../../support/access-requests.ts";
import { deep, seed } from "../../../support/depth.ts";
import { moving } from "../../../support/previews.ts";

const api = useApi();
const hours = [undefined, 1, 3] as const;
const at = (hour: number | undefined) =>
  hour === undefined ? null : new Date(Math.ceil(Date.now() / 1000) * 1000 + hour * 3_600_000).toISOString();
/** Between and after the expiries. */
const slices = [0, 2, 4].map((hour) => hour * 3_600_000);

const grant = fc.record({
  team: fc.nat(2),
  level: fc.constantFrom("read", "write", "admin"),
  where: fc.constantFrom("project 0", "project 1", "workspace"),
  end: fc.constantFrom(...hours),
});
/** The last person is an owner, who can make every change, and is in teams more often. */
const seat = fc.record({ team: fc.nat(2), person: fc.constantFrom(0, 1, 2, 2, 2), end: fc.constantFrom(...hours) });
const change = fc.oneof(
  grant.map((value) => ({ kind: "grant" as const, ...value })),
  grant.map((value) => ({ kind: "update" as const, ...value })),
  grant.map((value) => ({ kind: "revoke" as const, ...value })),
  seat.map((value) => ({ kind: "join" as const, ...value })),
  seat.map((value) => ({ kind: "leave" as const, ...value })),
  fc.record({ kind: fc.constant("organization" as const), team: fc.nat(2) }),
  fc.record({ kind: fc.constant("move" as const), to: fc.nat(1) }),
);
const scenario = fc.record({
  grants: fc.array(grant, { maxLength: 5 }),
  seats: fc.array(seat, { maxLength: 5 }),
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
});

interface Stage {
  readonly org: Org;
  readonly people: readonly Member[];
  readonly teams: readonly string[];
  readonly projects: readonly string[];
  readonly workspace: string;
  readonly records: ReadonlyMap<string, string>;
}

const grantBody = ({ projects, workspace, teams }: Stage, { team, level, where, end }: Json) =>
  where === "workspace"
    ? resource("team-workspaces", { access: level, "expires-at": at(end) }, onWorkspace(workspace, teams[team] ?? ""))
    : resource(
        "team-projects",
        { access: level, "expires-at": at(end) },
        onProject(projects[Number(where.slice(-1))] ?? "", teams[team] ?? ""),
      );
const typeAt = ({ where }: Json) => (where === "workspace" ? "team-workspaces" : "team-projects");
const keyOf = ({ team, where }: Json) => `${team} ${where}`;

async function makeStage({ grants, seats }: Json): Promise<Stage> {
  const org = await api.makeOrganization();
  const teams: string[] = [];
  for (let count = 0; count < 3; count += 1) teams.push((await api.makeTeam(org.name)).id);
  const people: Member[] = [];
  for (let count = 0; count < 3; count += 1)
    people.push(await api.makeMember(org.name, count === 2 ? [org.ownersTeamId] : []));
  const projects = [(await api.makeProject(org.name)).id, (await api.makeProject(org.name)).id];
  const workspace = (await api.makeWorkspace(org.name, {}, inProject(projects[0] ?? ""))).id;
  const records = new Map<string, string>();
  const stage = { org, people, teams, projects, workspace, records };
  for (const one of grants) {
    const made = await org.owner.post(`/${typeAt(one)}`, grantBody(stage, one));
    if (made.status === 200) records.set(keyOf(one), made.body.data.id);
  }
  for (const one of seats) await org.owner.post(seatPath(stage, one), seatBody(stage, one));
  return stage;
}

const seatPath = ({ teams }: Stage, { team }: Json) => `/teams/${teams[team]}/relationships/users`;
const seatBody = ({ people }: Stage, { person, end }: Json) => ({
  data: [{ type: "users", id: people[person]?.id, meta: { "expires-at": at(end) } }],
});

function changesOf(stage: Stage, wanted: readonly Json[]): Json[] {
  return wanted.flatMap((one): Json[] => {
    const record = stage.records.get(keyOf(one));
    const path = `/${typeAt(one)}/${record}`;
    if (one.kind === "grant") return [{ method: "POST", path: `/${typeAt(one)}`, body: grantBody(stage, one) }];
    if (one.kind === "update" && record !== undefined)
      return [{ method: "PATCH", path, body: resource(typeAt(one), { access: one.level, "expires-at": at(one.end) }) }];
    if (one.kind === "revoke" && record !== undefined) return [{ method: "DELETE", path }];
    if (one.kind === "join") return [{ method: "POST", path: seatPath(stage, one), body: seatBody(stage, one) }];
    if (one.kind === "leave")
      return [
        {
          method: "DELETE",
          path: seatPath(stage, one),
          body: { data: [{ type: "users", id: stage.people[one.person]?.id }] },
        },
      ];
    if (one.kind === "organization")
      return [
        {
          method: "PATCH",
          path: `/teams/${stage.teams[one.team]}`,
          body: resource("teams", { "organization-access": { "read-projects": true } }),
        },
      ];
    return one.kind === "move" ? [moving(stage.projects[one.to] ?? "", stage.workspace)] : [];
  });
}

interface Holdings {
  /** By team, place and time: the mask. */
  readonly masks: ReadonlyMap<string, number>;
  /** `user team time`. */
  readonly seats: ReadonlySet<string>;
}

/** From the rows, at several times from now on. */
async function holdingsOf({ org, projects, workspace, teams }: Stage): Promise<Holdings> {
  const { db } = api.database.reader;
  const [teamRows, onProjects, onWorkspaces, members, moved] = await Promise.all([
    db.selectFrom("teams").selectAll().where("organizationId", "=", org.id).execute(),
    db.selectFrom("teamProjects").selectAll().where("organizationId", "=", org.id).execute(),
    db.selectFrom("teamWorkspaces").selectAll().where("organizationId", "=", org.id).execute(),
    db.selectFrom("teamMembers").selectAll().where("organizationId", "=", org.id).execute(),
    db.selectFrom("workspaces").select("projectId").where("id", "=", workspace).executeTakeFirstOrThrow(),
  ]);
  const [masks, seats] = [new Map<string, number>(), new Set<string>()];
  for (const slice of slices) {
    const time = new Date(Date.now() + slice).toISOString();
    const lasts = ({ expiresAt }: { expiresAt: string | null }) => expiresAt === null || expiresAt > time;
    for (const { teamId, userId, ...row } of members) if (lasts(row)) seats.add(`${userId} ${teamId} ${slice}`);
    for (const teamId of teams) {
      const access = teamRows.find(({ id }) => id === teamId)?.organizationAccess ?? 0;
      const everywhere = organizationWideMaskOf(access);
      const inForce = <Row extends { teamId: string; expiresAt: string | null; permissions: number }>(rows: Row[]) =>
        rows.filter((row) => row.teamId === teamId && lasts(row));
      const sum = (rows: { permissions: number }[]) => rows.reduce((mask, row) => mask | row.permissions, everywhere);
      const onProjectOf = (id: string) => inForce(onProjects).filter(({ projectId }) => projectId === id);
      masks.set(`${teamId} organization ${slice}`, access);
      for (const id of projects) masks.set(`${teamId} ${id} ${slice}`, sum(onProjectOf(id)));
      masks.set(`${teamId} ${workspace} ${slice}`, sum([...onProjectOf(moved.projectId), ...inForce(onWorkspaces)]));
    }
  }
  return { masks, seats };
}

function expectNoGain({ id }: Member, before: Holdings, after: Holdings, teams: readonly string[]): void {
  const gained = [...after.seats].filter((one) => one.startsWith(`${id} `) && !before.seats.has(one));
  expect(gained, "seats of the approver").toEqual([]);
  const own = teams.filter((team) => [before, after].some(({ seats }) => seats.has(`${id} ${team} 0`)));
  for (const team of own)
    for (const [key, mask] of after.masks)
      if (key.startsWith(`${team} `)) expect(mask & ~(before.masks.get(key) ?? 0), key).toBe(0);
}

it(
  "an approval gives nothing to the approver or its teams",
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (generated) => {
        const stage = await makeStage(generated);
        const changes = changesOf(stage, generated.changes);
        if (changes.length === 0) return;
        const requester = await api.makeMember(stage.org.name, [stage.org.ownersTeamId]);
        const { id } = await makeRequest(requester, stage.org.name, changes);
        expect((await approve(requester, id)).status).toBe(403);
        const before = await holdingsOf(stage);
        for (const approver of [...stage.people, stage.org.owner as Member]) {
          const shown = await approver.get(`/access-requests/${id}`);
          const canApprove = shown.status === 200 && shown.body.data.attributes.permissions["can-approve"] === true;
          const answer = await approve(approver, id);
          expect(canApprove ? [200, 409] : [403, 404, 409], JSON.stringify(answer.body)).toContain(answer.status);
          if (answer.status !== 200) {
            expect((await readRequest(requester, id)).attributes.status).toBe("pending");
            continue;
          }
          expectNoGain(approver, before, await holdingsOf(stage), stage.teams);
          return;
        }
      }),
      { seed, numRuns: deep(12, 400) },
    );
  },
  deep(120_000, 1_800_000),
);
