/** Attempts to receive a team's notifications about workspaces that the caller can't read. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  grantWorkspace,
  makeHolder,
  makeOrganization,
  makeTeam,
  makeTeamToken,
  type Org,
  resource,
} from "../../../support/builders.ts";
import { allowed, useReceiver } from "../../../support/receiver.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { deliver, make, post } from "./support.ts";

const api = useApi({ options: { privateAddresses: allowed } });
const receiver = useReceiver();

interface Scene {
  readonly org: Org;
  readonly workspace: Json;
  /** A team that reads the workspace. */
  readonly team: Json;
  /** A person with `manage-teams`, and their team's token: neither can read the workspace. */
  readonly attackers: Readonly<Record<"person" | "token", Caller>>;
}

async function makeScene(): Promise<Scene> {
  const org = await makeOrganization(api);
  const workspace = await makeRunnable(api, org.name);
  const team = await makeTeam(api, org.name);
  await grantWorkspace(api, org.id, workspace.id, team.id, "read");
  const person = await makeHolder(api, org.name, "manage-teams");
  const attackers = { person, token: await makeTeamToken(api, person.teamId) };
  for (const attacker of Object.values(attackers))
    expect((await attacker.get(`/workspaces/${workspace.id}`)).status).toBe(404);
  return { org, workspace, team, attackers };
}

const destination = () => ({ enabled: true, url: receiver.url, triggers: ["run:created"] });
const more = "This would give more than you hold yourself";

/** What the receiver hears of a run in the workspace. */
async function heardOfRun({ org, workspace }: Scene): Promise<Json[]> {
  receiver.heard.length = 0;
  await makeRun(org.owner, workspace.id);
  await deliver(api);
  return receiver.heard.map(({ body }) => body);
}

describe("manage-teams", () => {
  it("403: adds no destination to a team that reads more, and nobody is called", async () => {
    const scene = await makeScene();
    receiver.heard.length = 0;
    for (const attacker of Object.values(scene.attackers)) {
      for (const enabled of [true, false]) {
        const answer = await post(attacker, `/teams/${scene.team.id}`, { ...destination(), enabled });
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain(more);
      }
      const email = { "destination-type": "email", enabled: true, triggers: ["run:created"] };
      expect((await post(attacker, `/teams/${scene.team.id}`, email)).status).toBe(403);
    }
    expect(receiver.heard).toEqual([]);
    expect(await heardOfRun(scene)).toEqual([]);
  });

  it("403: changes, verifies and follows no destination of such a team; deleting one takes nothing from anybody", async () => {
    const scene = await makeScene();
    const { id } = await make(scene.org.owner, `/teams/${scene.team.id}`, { ...destination(), enabled: false });
    const path = `/notification-configurations/${id}`;
    const { person } = scene.attackers;
    for (const attributes of [{ url: `${receiver.url}/evil` }, { enabled: true }, { token: "known" }, { name: "x" }])
      expect((await person.patch(path, resource("notification-configurations", attributes))).status).toBe(403);
    expect((await person.post(`${path}/actions/verify`)).status).toBe(403);
    expect((await person.get(`${path}/deliveries`)).status).toBe(403);
    expect((await scene.org.owner.get(`${path}/deliveries`)).status).toBe(200);
    expect(await heardOfRun(scene)).toEqual([]);
    expect((await person.get(path)).status).toBe(200);
    expect((await person.delete(path)).status).toBe(204);
  });

  it("201: adds one to a team that reads no more than the caller, and follows its deliveries", async () => {
    const scene = await makeScene();
    const weak = await makeTeam(api, scene.org.name);
    for (const attacker of Object.values(scene.attackers)) {
      const made = await make(attacker, `/teams/${weak.id}`, destination());
      expect((await attacker.get(`/notification-configurations/${made.id}/deliveries`)).status).toBe(200);
    }
    expect(await heardOfRun(scene)).toEqual([]);
  });

  it("403: nor to the owners' team, nor for longer than the caller reads what the team does", async () => {
    const scene = await makeScene();
    expect((await post(scene.attackers.person, `/teams/${scene.org.ownersTeamId}`, destination())).status).toBe(403);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const { person } = scene.attackers as unknown as { person: { teamId: string } & Caller };
    const record = resource(
      "team-workspaces",
      { access: "read", "expires-at": soon },
      {
        workspace: { data: { type: "workspaces", id: scene.workspace.id } },
        team: { data: { type: "teams", id: person.teamId } },
      },
    );
    data(await api.admin.post("/team-workspaces", record));
    expect((await person.get(`/workspaces/${scene.workspace.id}`)).status).toBe(200);
    expect((await post(person, `/teams/${scene.team.id}`, destination())).status).toBe(403);
  });
});
