import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers } from "../../../support/builders.ts";

describe("data retention policies", () => {
  const api = useApi();

  const deleteOlders = "data-retention-policy-delete-olders";
  const dontDeletes = "data-retention-policy-dont-deletes";
  const deleteOlder = (days: unknown) => ({
    data: { type: deleteOlders, attributes: { "delete-older-than-n-days": days } },
  });
  const dontDelete = { data: { type: dontDeletes } };

  const ofWorkspace = (workspace: Json) => `/workspaces/${workspace.id}/relationships/data-retention-policy`;
  const ofOrganization = (org: Org) => `/organizations/${org.name}/relationships/data-retention-policy`;

  async function makeBoth(): Promise<{ org: Org; workspace: Json; paths: [string, string] }> {
    const org = await api.makeOrganization();
    const workspace = await api.makeWorkspace(org.name);
    return { org, workspace, paths: [ofWorkspace(workspace), ofOrganization(org)] };
  }

  /** Newest first: action, before, after. */
  async function auditEventsOf(org: Org): Promise<Json[]> {
    const path = `/organizations/${org.name}/audit-events?filter[subject][type]=data-retention-policies`;
    return data(await org.owner.get(path)).map(({ attributes }: Json) => [
      attributes.action.replace("data-retention-policies.", ""),
      attributes.before,
      attributes.after,
    ]);
  }

  describe("changeWorkspaceDataRetentionPolicy, changeOrganizationDataRetentionPolicy", () => {
    it("set a policy as POST does, and replace an existing one", async () => {
      const { org, paths } = await makeBoth();
      const answers = await Promise.all(paths.map((path) => org.owner.patch(path, deleteOlder(33))));
      expect(answers.map(({ status }) => status)).toEqual([200, 204]);
      for (const path of paths) {
        expect(data(await org.owner.get(path)).attributes).toEqual({ "delete-older-than-n-days": 33 });
        expect((await org.owner.patch(path, deleteOlder(0))).status).toBe(422);
        expect((await org.owner.patch(path, deleteOlder(7), { "if-match": '"9"' })).status).toBe(412);
        expect((await org.owner.patch(path, dontDelete)).status).toBeLessThan(300);
        expect(data(await org.owner.get(path)).type).toBe(dontDeletes);
      }
      expect(answers[0]?.body.data.type).toBe(deleteOlders);
    });
  });

  describe("a policy, on a workspace and on an organization alike", () => {
    it("201: both types, as documents of their own type", async () => {
      const { org, workspace, paths } = await makeBoth();
      for (const path of paths) {
        const older = await org.owner.post(path, deleteOlder(33));
        expect([older.status, older.headers.get("etag")]).toEqual([201, '"1"']);
        const workspaceData = path === paths[0] ? { id: workspace.id, type: "workspaces" } : null;
        expect(older.body.data).toEqual({
          id: expect.stringMatching(/^drp-[A-Za-z0-9]{16}$/),
          type: deleteOlders,
          attributes: { "delete-older-than-n-days": 33 },
          relationships: { workspace: { data: workspaceData } },
        });
        const never = await org.owner.post(path, dontDelete);
        expect([never.status, never.headers.get("etag")]).toEqual([201, '"2"']);
        expect(never.body.data).toEqual({ ...older.body.data, type: dontDeletes, attributes: {} });
        const shown = await org.owner.get(path);
        expect([shown.status, shown.headers.get("etag"), shown.body]).toEqual([200, '"2"', never.body]);
      }
    });

    it("200: the policy set last applies", async () => {
      const { org, paths } = await makeBoth();
      for (const path of paths) {
        for (const days of [45, 1, 36_500]) {
          await org.owner.post(path, deleteOlder(days));
          expect(data(await org.owner.get(path)).attributes).toEqual({ "delete-older-than-n-days": days });
        }
      }
    });

    it("the same again changes nothing and records no event", async () => {
      const { org, paths } = await makeBoth();
      for (const path of paths) {
        const first = await org.owner.post(path, deleteOlder(7));
        const second = await org.owner.post(path, deleteOlder(7));
        expect([second.body, second.headers.get("etag")]).toEqual([first.body, '"1"']);
      }
      expect(await auditEventsOf(org)).toHaveLength(2);
    });

    it("404: where there is none; 204 removes it, once", async () => {
      const { org, paths } = await makeBoth();
      const sentence =
        "There is no such data retention policy, or you are not allowed to see it. Check the id or name, and the token that you use.";
      for (const path of paths) {
        for (const method of ["GET", "DELETE"]) {
          const none = await org.owner.send(method, path);
          expect([none.status, details(none)]).toEqual([404, [sentence]]);
        }
        await org.owner.post(path, dontDelete);
        const removed = await org.owner.delete(path);
        expect([removed.status, removed.body]).toEqual([204, undefined]);
        expect((await org.owner.get(path)).status).toBe(404);
        expect((await org.owner.delete(path)).status).toBe(404);
      }
    });

    const days = "/data/attributes/delete-older-than-n-days";
    const notWhole = "Delete older than n days must be a whole number from 1 to 36500";
    it.each<[string, unknown, string, string]>([
      ["no days", { data: { type: deleteOlders } }, "Delete older than n days can't be blank", days],
      ["zero days", deleteOlder(0), notWhole, days],
      ["a fraction", deleteOlder(1.5), notWhole, days],
      ["too many", deleteOlder(36_501), notWhole, days],
      ["null", deleteOlder(null), "Delete older than n days must be a number", days],
      ["text", deleteOlder("30"), "Delete older than n days must be a number", days],
      [
        "another type",
        { data: { type: "data-retention-policies", attributes: { "delete-older-than-n-days": 3 } } },
        `Type must be '${deleteOlders}' or '${dontDeletes}'`,
        "/data/type",
      ],
      ["no type", { data: {} }, `Type must be '${deleteOlders}' or '${dontDeletes}'`, "/data/type"],
      ["no data", {}, "Data must be an object", "/data"],
      [
        "attributes that are none",
        { data: { type: dontDeletes, attributes: 5 } },
        "Attributes must be an object",
        "/data/attributes",
      ],
    ])("422: %s", async (_, body, sentence, pointer) => {
      const { org, paths } = await makeBoth();
      for (const path of paths) {
        const answer = await org.owner.post(path, body);
        expect([answer.status, details(answer), pointers(answer)]).toEqual([422, [sentence], [pointer]]);
        expect((await org.owner.get(path)).status).toBe(404);
      }
    });

    it("a policy that deletes nothing takes no days, whatever is sent", async () => {
      const { org, paths } = await makeBoth();
      const body = { data: { type: dontDeletes, attributes: { "delete-older-than-n-days": 3 } } };
      expect(data(await org.owner.post(paths[0], body)).attributes).toEqual({});
    });

    it("412: a stale If-Match, when it is replaced and when it is removed", async () => {
      const { org, paths } = await makeBoth();
      for (const path of paths) {
        await org.owner.post(path, deleteOlder(1));
        expect((await org.owner.post(path, deleteOlder(2), { "if-match": '"1"' })).status).toBe(201);
        expect((await org.owner.post(path, deleteOlder(3), { "if-match": '"1"' })).status).toBe(412);
        expect((await org.owner.delete(path, undefined, { "if-match": '"1"' })).status).toBe(412);
        expect((await org.owner.delete(path, undefined, { "if-match": '"2"' })).status).toBe(204);
      }
    });

    it("concurrent callers create one policy", async () => {
      const { org, workspace, paths } = await makeBoth();
      for (const path of paths) {
        const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((count) => org.owner.post(path, deleteOlder(count))));
        expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]));
        expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(1);
      }
      const rows = await api.database.reader.db
        .selectFrom("dataRetentionPolicies")
        .select("workspaceId")
        .where("organizationId", "=", org.id)
        .execute();
      expect(rows.map((row) => row.workspaceId).toSorted()).toEqual([null, workspace.id].toSorted());
    });

    it("records an audit event for each change", async () => {
      const { org, workspace, paths } = await makeBoth();
      const [own] = paths;
      await org.owner.post(own, deleteOlder(9));
      await org.owner.post(own, dontDelete);
      await org.owner.delete(own);
      const older = { type: deleteOlders, "delete-older-than-n-days": 9, workspace: workspace.id };
      const never = { type: dontDeletes, "delete-older-than-n-days": null, workspace: workspace.id };
      expect(await auditEventsOf(org)).toEqual([
        ["delete", never, null],
        ["update", older, never],
        ["create", null, older],
      ]);
    });

    it("needs 2 statements to show, and at most 6 to change", async () => {
      const { org, paths } = await makeBoth();
      for (const path of paths) {
        for (const [method, body, most] of [
          ["POST", deleteOlder(1), 6],
          ["POST", dontDelete, 6],
          ["GET", undefined, 2],
          ["DELETE", undefined, 6],
        ] as const) {
          const before = api.database.statementCount();
          await org.owner.send(method, path, body);
          expect(api.database.statementCount() - before).toBeLessThanOrEqual(most);
        }
      }
    });
  });

  describe("a workspace and its organization", () => {
    it("GET shows the organization's policy where the workspace has none; DELETE removes only its own", async () => {
      const { org, workspace, paths } = await makeBoth();
      const [own, common] = paths;
      const organizations = await org.owner.post(common, deleteOlder(100));
      expect((await org.owner.get(own)).body).toEqual(organizations.body);
      expect((await org.owner.delete(own)).status).toBe(404);
      const explicit = await org.owner.post(own, dontDelete);
      expect((await org.owner.get(own)).body).toEqual(explicit.body);
      expect((await org.owner.get(common)).body).toEqual(organizations.body);
      await org.owner.delete(own);
      expect((await org.owner.get(own)).body).toEqual(organizations.body);
      const other = await api.makeWorkspace((await api.makeOrganization()).name);
      expect((await api.admin.get(ofWorkspace(other))).status).toBe(404);
      const document = data(await org.owner.get(`/workspaces/${workspace.id}`));
      expect(document.relationships["data-retention-policy"].data).toBeNull();
    });

    it("the workspace's document names its own policy, and its version follows what the document shows", async () => {
      const { org, workspace, paths } = await makeBoth();
      const [own, common] = paths;
      const look = async () => {
        const answer = await org.owner.get(`/workspaces/${workspace.id}`);
        return [
          answer.body.data.relationships["data-retention-policy"].data,
          Number(answer.headers.get("etag")?.slice(1, -1)),
        ];
      };
      const [none, version] = (await look()) as [null, number];
      expect(none).toBeNull();
      const { id } = data(await org.owner.post(own, deleteOlder(3)));
      expect(await look()).toEqual([{ id, type: deleteOlders }, version + 1]);
      await org.owner.post(own, deleteOlder(4));
      await org.owner.post(own, deleteOlder(4));
      await org.owner.post(common, dontDelete);
      expect(await look()).toEqual([{ id, type: deleteOlders }, version + 1]);
      await org.owner.post(own, dontDelete);
      expect(await look()).toEqual([{ id, type: dontDeletes }, version + 2]);
      await org.owner.delete(own);
      expect(await look()).toEqual([null, version + 3]);
    });

    it("a policy is deleted with its workspace", async () => {
      const { org, workspace, paths } = await makeBoth();
      await org.owner.post(paths[0], dontDelete);
      expect((await org.owner.delete(`/workspaces/${workspace.id}`)).status).toBe(204);
      expect((await org.owner.get(paths[0])).status).toBe(404);
    });
  });

  describe("permissions", () => {
    type MakeCaller = (org: Org, workspace: Json) => Promise<Caller>;
    const onWorkspace =
      (level: "read" | "write" | "admin"): MakeCaller =>
      async (org, workspace) => {
        const team = await api.makeTeam(org.name);
        await api.grantWorkspace(workspace.id, team.id, level);
        return api.makeMember(org.name, [team.id]);
      };
    const all = [200, 201, 204];
    const reads = [200, 403, 403];
    const nothing = [404, 404, 404];

    /** GET, POST, DELETE on the workspace's, then on the organization's. */
    const cases: [string, MakeCaller, number[], number[]][] = [
      ["a site admin", async () => api.admin, all, all],
      ["an owner", async (org) => org.owner, all, all],
      ["the owners team's token", (org) => api.makeTeamToken(org.ownersTeamId), all, all],
      ["the organization's token", (org) => api.makeOrganizationToken(org.name), all, all],
      ["manage-workspaces", (org) => api.makeHolder(org.name, "manage-workspaces"), all, reads],
      ["read-workspaces", (org) => api.makeHolder(org.name, "read-workspaces"), reads, reads],
      ["workspace admin", onWorkspace("admin"), all, reads],
      ["workspace write", onWorkspace("write"), reads, reads],
      ["workspace read", onWorkspace("read"), reads, reads],
      ["a member without a grant", (org) => api.makeMember(org.name), nothing, reads],
      ["another organization's owner", async () => (await api.makeOrganization()).owner, nothing, nothing],
    ];

    it.each(cases)("%s", async (_, makeCaller, onOwn, onCommon) => {
      const { org, workspace, paths } = await makeBoth();
      const caller = await makeCaller(org, workspace);
      for (const [path, expected] of [
        [paths[0], onOwn],
        [paths[1], onCommon],
      ] as const) {
        await org.owner.post(path, deleteOlder(5));
        const found = [
          (await caller.get(path)).status,
          (await caller.post(path, deleteOlder(6))).status,
          (await caller.delete(path)).status,
        ];
        expect(found).toEqual(expected);
      }
    });

    it("a 403 names the missing permission", async () => {
      const { org, workspace, paths } = await makeBoth();
      const reader = await onWorkspace("read")(org, workspace);
      expect(details(await reader.post(paths[0], dontDelete))).toEqual([
        "You can see this workspace, but this action needs admin access to the workspace (can-update).",
      ]);
      expect(details(await reader.delete(paths[1]))).toEqual([
        "You can see this organization, but this action needs ownership of the organization (can-update).",
      ]);
    });
  });
});

describe("hosted", () => {
  const api = useApi({ options: { edition: "hosted" } });

  it("the hosted edition has no data retention: every endpoint answers 404, to everybody", async () => {
    const org = await api.makeOrganization();
    const workspace = await api.makeWorkspace(org.name);
    expect(workspace.relationships["data-retention-policy"]).toBeUndefined();
    const body = { data: { type: "data-retention-policy-dont-deletes" } };
    for (const path of [`/workspaces/${workspace.id}`, `/organizations/${org.name}`]) {
      for (const [method, sent] of [["GET"], ["POST", body], ["PATCH", body], ["DELETE"]] as const) {
        for (const caller of [org.owner, api.admin]) {
          const answer = await caller.send(method, `${path}/relationships/data-retention-policy`, sent);
          expect([answer.status, details(answer)]).toEqual([
            404,
            ["The hosted edition of this service has no data retention policies."],
          ]);
        }
      }
    }
  });
});
