/** lock, unlock, force-unlock: every row of the table of states and transitions, bodies, holders and refusals. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Member, type Org, unique } from "../../../support/builders.ts";
import { faults, pathById, setColumns } from "./support.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let team: Json;
let writer: Member;
let colleague: Member;
let token: Caller;
beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
  [writer, colleague] = [await api.makeMember(org.name, [team.id]), await api.makeMember(org.name, [team.id])];
  token = await api.makeTeamToken(team.id);
});
beforeEach(async () => {
  workspace = await api.makeWorkspace(org.name, { description: "locked and unlocked" });
  await api.grantWorkspace(workspace.id, team.id, "write");
});

const act = (caller: Caller, action: string, body?: unknown): Promise<Answer> =>
  caller.post(`${pathById(workspace)}/actions/${action}`, body);
const shown = async (): Promise<Json> => data(await org.owner.get(pathById(workspace)));
const lockOf = ({ attributes, relationships }: Json) => ({
  locked: attributes.locked,
  reason: attributes["locked-reason"],
  by: relationships["locked-by"].data,
});
const free = { locked: false, reason: null, by: null };
const byUser = (person: Member, reason = "") => ({ locked: true, reason, by: { id: person.id, type: "users" } });

async function expectConflict(answer: Answer, sentence: string): Promise<void> {
  expect(answer.status).toBe(409);
  expect(answer.body.errors).toEqual([{ status: "409", title: "conflict", detail: sentence }]);
}
const alreadyLocked = "Unable to lock workspace. The workspace is already locked.";
const alreadyUnlocked = "Unable to unlock workspace. The workspace is already unlocked.";
const heldBy = (holder: string) =>
  `Unable to unlock workspace. The workspace is locked by ${holder} and may not be unlocked except by them.`;

const missing = (needs: string) => [
  { status: "404", title: "not found", detail: `You can see this workspace, but this action needs ${needs}.` },
];

describe("404 that names the missing permission, for callers who can only see it", () => {
  it.each([
    ["lock", "the permission to lock and unlock the workspace (can-lock)"],
    ["unlock", "the permission to lock and unlock the workspace (can-unlock)"],
    ["force-unlock", "admin access to the workspace (can-force-unlock)"],
    ["safe-delete", "admin access to the workspace, or 'delete' on the project's workspaces (can-destroy)"],
  ])("%s", async (action, needs) => {
    const readers = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, readers.id, "read");
    const answer = await act(await api.makeMember(org.name, [readers.id]), action);
    expect(answer.status).toBe(404);
    expect(answer.body.errors).toEqual(missing(needs));
    const [stranger] = (await act(await api.makeMember(org.name), action)).body.errors;
    expect(stranger.detail).toMatch(/^There is no such workspace, or you are not allowed to see it\./);
    expect(await shown()).toEqual(workspace);
  });
});

describe("lockWorkspace: 200", () => {
  it("locks an unlocked one, and answers with the whole document", async () => {
    const answer = await act(writer, "lock", { reason: "Rotating the keys" });
    expect(answer.status).toBe(200);
    expect(lockOf(answer.body.data)).toEqual(byUser(writer, "Rotating the keys"));
    expect(data(await writer.get(pathById(workspace)))).toEqual(answer.body.data);
    const listed = data(await writer.get(`/organizations/${org.name}/workspaces?page[size]=100`));
    expect(listed.find((item: Json) => item.id === workspace.id)).toEqual(answer.body.data);
    const unlockedAgain = {
      ...answer.body.data,
      attributes: { ...answer.body.data.attributes, locked: false, "locked-reason": null, "locked-at": null },
    };
    unlockedAgain.relationships = { ...unlockedAgain.relationships, "locked-by": { data: null } };
    expect(data(await act(writer, "unlock"))).toEqual(unlockedAgain);
  });

  it.each<[string, unknown, string]>([
    ["a reason", { reason: "because" }, "because"],
    ["a reason in data.attributes", { data: { attributes: { reason: "because" } } }, "because"],
    ["a whole resource", { data: { type: "workspaces", id: "x", attributes: { reason: "because" } } }, "because"],
    ["no body", undefined, ""],
    ["an empty body", "", ""],
    ["an empty object", {}, ""],
    ["an empty reason", { reason: "" }, ""],
    ["a reason that is null", { reason: null }, ""],
    ["data without attributes", { data: {} }, ""],
    ["attributes without a reason", { data: { attributes: {} } }, ""],
    ["other members", { colour: "blue", reason: "x" }, "x"],
    ["a reason of 1024 characters", { reason: "\u{1F600}".repeat(1024) }, "\u{1F600}".repeat(1024)],
  ])("%s", async (_, body, reason) => {
    expect(lockOf(data(await act(writer, "lock", body)))).toEqual(byUser(writer, reason));
  });

  it("needs no media type where there is no body", async () => {
    const response = await fetch(`${api.url}/api/v2${pathById(workspace)}/actions/lock`, {
      method: "POST",
      headers: { authorization: `Bearer ${writer.token}` },
    });
    expect(response.status).toBe(200);
  });

  it("with a team's token, the team holds it", async () => {
    expect(lockOf(data(await act(token, "lock", { reason: "x" })))).toEqual({
      locked: true,
      reason: "x",
      by: { id: team.id, type: "teams" },
    });
  });

  it.each(["1", "true", '"text"', "[]", "null", '{"reason":5}', '{"data":{"attributes":{"reason":[]}}}', '{"data":5}'])(
    "the body %s is 422",
    async (body) => {
      const answer = await act(writer, "lock", body);
      expect(answer.status).toBe(422);
      expect((await shown()).attributes.locked).toBe(false);
    },
  );

  it("a reason that is too long is 422", async () => {
    const answer = await act(writer, "lock", { reason: "x".repeat(1025) });
    expect(faults(answer)).toEqual([["/reason", "Reason is too long (maximum is 1024 characters)"]]);
  });
});

describe("lockWorkspace: 409", () => {
  it.each<[string, () => Caller]>([
    ["the holder", () => writer],
    ["a colleague", () => colleague],
    ["an owner", () => org.owner],
    ["the holder's team", () => token],
  ])("of a locked one, by %s", async (_, caller) => {
    data(await act(writer, "lock", { reason: "first" }));
    const before = await shown();
    await expectConflict(await act(caller(), "lock", { reason: "second" }), alreadyLocked);
    expect(await shown()).toEqual(before);
  });
});

describe("unlockWorkspace", () => {
  it("by the lock holder: 200, and everything is as before the lock", async () => {
    const before = await shown();
    data(await act(writer, "lock", { reason: "x" }));
    const answer = await act(writer, "unlock");
    expect(answer.status).toBe(200);
    expect(lockOf(answer.body.data)).toEqual(free);
    expect(await shown()).toEqual(before);
  });

  it("by the lock holder with another token: 200", async () => {
    data(await act(writer, "lock"));
    const second = data(await writer.post(`/users/${writer.id}/authentication-tokens`)).attributes.token;
    expect(second).not.toBe(writer.token);
    expect((await act(api.as(second), "unlock")).status).toBe(200);
  });

  it("a team's lock with the team's token: 200", async () => {
    data(await act(token, "lock"));
    expect((await act(token, "unlock")).status).toBe(200);
  });

  it("of an unlocked workspace: 409", async () => {
    await expectConflict(await act(writer, "unlock"), alreadyUnlocked);
  });

  it.each<[string, () => Caller, () => Caller, () => string]>([
    ["a user's, by a colleague", () => writer, () => colleague, () => `User ${writer.username}`],
    ["a user's, by an owner", () => writer, () => org.owner, () => `User ${writer.username}`],
    ["a user's, by a site admin", () => writer, () => api.admin, () => `User ${writer.username}`],
    ["a user's, by the user's team", () => writer, () => token, () => `User ${writer.username}`],
    ["a team's, by its member", () => token, () => writer, () => `Team ${team.attributes.name}`],
    ["an owner's, by a writer", () => org.owner, () => writer, () => `User ${org.owner.username}`],
  ])("of %s: 409 that names the holder", async (_, holder, caller, name) => {
    data(await act(holder(), "lock", { reason: "mine" }));
    const before = await shown();
    await expectConflict(await act(caller(), "unlock"), heldBy(name()));
    expect(await shown()).toEqual(before);
  });

  it("of a run's lock: 409 that names the run", async () => {
    await setColumns(api, workspace.id, { lockedByType: "runs", lockedById: "run-abc", lockedReason: "" });
    expect(lockOf(await shown())).toEqual({ locked: true, reason: "", by: { id: "run-abc", type: "runs" } });
    await expectConflict(await act(writer, "unlock"), heldBy("Run run-abc"));
  });

  it("another team's token: 409", async () => {
    const other = await api.makeTeam(org.name, { name: unique("other") });
    await api.grantWorkspace(workspace.id, other.id, "write");
    data(await act(token, "lock"));
    await expectConflict(
      await act(await api.makeTeamToken(other.id), "unlock"),
      heldBy(`Team ${team.attributes.name}`),
    );
  });

  it("ignores a body", async () => {
    data(await act(writer, "lock"));
    expect((await act(writer, "unlock", { anything: 1 })).status).toBe(200);
  });
});

describe("forceUnlockWorkspace", () => {
  it.each<[string, () => Promise<Caller>]>([
    ["an owner", async () => org.owner],
    ["a site admin", async () => api.admin],
    ["the organization's token", () => api.makeOrganizationToken(org.name)],
    [
      "a workspace admin",
      async () => {
        const admins = await api.makeTeam(org.name);
        await api.grantWorkspace(workspace.id, admins.id, "admin");
        return api.makeMember(org.name, [admins.id]);
      },
    ],
  ])("by %s, with any holder: 200", async (_, make) => {
    const admin = await make();
    const lockers: (() => Promise<unknown>)[] = [
      () => act(writer, "lock", { reason: "x" }),
      () => act(token, "lock", { reason: "x" }),
      () => setColumns(api, workspace.id, { lockedByType: "runs", lockedById: "run-abc", lockedReason: "x" }),
    ];
    for (const lock of lockers) {
      await lock();
      expect((await shown()).attributes.locked).toBe(true);
      const answer = await act(admin, "force-unlock");
      expect(answer.status).toBe(200);
      expect(lockOf(answer.body.data)).toEqual(free);
      expect(lockOf(await shown())).toEqual(free);
    }
  });

  it("of an unlocked workspace: 409", async () => {
    await expectConflict(await act(org.owner, "force-unlock"), alreadyUnlocked);
  });

  it("by a caller who can only lock, even the holder: 404", async () => {
    data(await act(writer, "lock"));
    const answer = await act(writer, "force-unlock");
    expect(answer.status).toBe(404);
    expect(answer.body.errors[0].title).toBe("not found");
    expect((await shown()).attributes.locked).toBe(true);
  });

  it("leaves it free to be locked again", async () => {
    data(await act(writer, "lock", { reason: "one" }));
    data(await act(org.owner, "force-unlock"));
    await expectConflict(await act(writer, "unlock"), alreadyUnlocked);
    expect(lockOf(data(await act(colleague, "lock", { reason: "two" })))).toEqual(byUser(colleague, "two"));
  });
});

describe("a lock whose holder was deleted", () => {
  const byForce = " This user no longer exists. Ask someone with admin access to the workspace to force-unlock it.";

  it("stays when the account is deleted, with the holder's name, until it is force-unlocked", async () => {
    const leaver = await api.makeMember(org.name, [team.id]);
    data(await act(leaver, "lock", { reason: "halfway through" }));
    expect((await api.admin.delete(`/admin/users/${leaver.id}`)).status).toBe(204);
    expect(lockOf(await shown())).toEqual(byUser(leaver, "halfway through"));
    await expectConflict(await act(writer, "lock"), alreadyLocked);
    await expectConflict(await act(writer, "unlock"), heldBy(`User ${leaver.username}`) + byForce);
    expect(lockOf(data(await act(org.owner, "force-unlock")))).toEqual(free);
  });

  it("stays when the membership ends: the user still exists", async () => {
    const leaver = await api.makeMember(org.name, [team.id]);
    data(await act(leaver, "lock"));
    const members = data(await org.owner.get(`/organizations/${org.name}/organization-memberships?page[size]=100`));
    const membership = members.find((item: Json) => item.relationships.user.data.id === leaver.id);
    expect((await org.owner.delete(`/organization-memberships/${membership.id}`)).status).toBe(204);
    await expectConflict(await act(writer, "unlock"), heldBy(`User ${leaver.username}`));
    expect((await act(leaver, "unlock")).status).toBe(404);
    expect(lockOf(await shown())).toEqual(byUser(leaver));
  });

  it("stays when the team is deleted", async () => {
    const passing = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, passing.id, "write");
    data(await act(await api.makeTeamToken(passing.id), "lock"));
    expect((await org.owner.delete(`/teams/${passing.id}`)).status).toBe(204);
    const sentence = heldBy(`Team ${passing.attributes.name}`) + byForce.replace("user", "team");
    await expectConflict(await act(writer, "unlock"), sentence);
    expect(lockOf(data(await act(org.owner, "force-unlock")))).toEqual(free);
  });
});

describe("the organization's token", () => {
  it("can neither lock nor unlock: 404", async () => {
    const organization = await api.makeOrganizationToken(org.name);
    const refused = await act(organization, "lock");
    expect(refused.status).toBe(404);
    expect(refused.body.errors).toEqual(missing("the permission to lock and unlock the workspace (can-lock)"));
    data(await act(writer, "lock"));
    expect((await act(organization, "unlock")).status).toBe(404);
    expect(lockOf(await shown())).toEqual(byUser(writer));
  });
});

describe("by name", () => {
  it("a workspace can't be locked", async () => {
    const path = `/organizations/${org.name}/workspaces/${workspace.attributes.name}/actions/lock`;
    expect((await org.owner.post(path)).status).toBe(404);
  });
});
