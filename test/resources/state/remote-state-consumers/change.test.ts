import { describe, expect, it } from "vitest";
import { newId } from "../../../../src/kernel/ids.ts";
import { useApi } from "../../../support/api.ts";
import {
  data,
  details,
  grantWorkspace,
  makeMember,
  makeOrganization,
  makeTeam,
  makeWorkspace,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";
import { consumersOf, consumersPath, link, makeSharing, statuses, told, trailOf } from "./support.ts";

const api = useApi();

describe("adding", () => {
  it("204: present ones are skipped, the rest is added; whole documents allowed, each once", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    const one = await org.owner.post(consumersPath(shared), link(first));
    expect([one.status, one.body]).toEqual([204, undefined]);
    const body = { data: [first, second, second, { ...third, attributes: { name: "ignored" } }] };
    expect((await org.owner.post(consumersPath(shared), body)).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual(others.map(({ id }) => id));
    expect(await trailOf(org, shared)).toEqual([
      ["workspaces.add-remote-state-consumers", told(), told(second, third)],
      ["workspaces.add-remote-state-consumers", told(), told(first)],
    ]);
  });

  it("204: what changes nothing leaves no trace, and the workspace's version stays in any case", async () => {
    const { org, shared, others } = await makeSharing(api);
    const etag = (await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag");
    await org.owner.post(consumersPath(shared), link(...others));
    await org.owner.post(consumersPath(shared), link(...others));
    await org.owner.post(consumersPath(shared), link());
    expect(await trailOf(org, shared)).toHaveLength(1);
    expect((await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag")).toBe(etag);
  });

  it("422: every invalid one is listed, and nothing is added", async () => {
    const { org, shared, others } = await makeSharing(api);
    const elsewhere = await makeWorkspace(api, (await makeOrganization(api)).name);
    const unknown = { id: newId("workspaces") };
    const answer = await api.admin.post(consumersPath(shared), link(others[0], elsewhere, shared, unknown));
    expect(answer.status).toBe(422);
    const missing = (id: string) =>
      `Workspace '${id}' does not exist in this organization, or you are not allowed to see it`;
    expect(answer.body.errors.map((error: { source: object; detail: string }) => [error.source, error.detail])).toEqual(
      [
        [{ pointer: "/data/2/id" }, "A workspace can't be a consumer of its own state"],
        [{ pointer: "/data/1/id" }, missing(elsewhere.id)],
        [{ pointer: "/data/3/id" }, missing(unknown.id)],
      ],
    );
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    expect(await trailOf(org, shared)).toEqual([]);
  });

  it("204: many callers at once, of the same ones", async () => {
    const { org, shared, others } = await makeSharing(api);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => org.owner.post(consumersPath(shared), link(...others))),
    );
    expect(new Set(statuses(answers))).toEqual(new Set([204]));
    expect(await consumersOf(org.owner, shared)).toHaveLength(3);
    expect(await trailOf(org, shared)).toHaveLength(1);
  });

  it("204: workspaces that add each other at once", async () => {
    const { org, others } = await makeSharing(api);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        others.map((workspace) =>
          org.owner.post(consumersPath(workspace), link(...others.filter((other) => other !== workspace))),
        ),
      );
      expect(statuses(answers)).toEqual([204, 204, 204]);
      await Promise.all(others.map((workspace) => org.owner.patch(consumersPath(workspace), link())));
    }
  });
});

describe("removing", () => {
  it("204: absent ones are skipped, the workspace itself among them", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    await org.owner.post(consumersPath(shared), link(first, second));
    const answer = await org.owner.delete(consumersPath(shared), link(third, second, shared));
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expect((await org.owner.delete(consumersPath(shared), link(second))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([first.id]);
    expect((await trailOf(org, shared)).slice(0, -1)).toEqual([
      ["workspaces.remove-remote-state-consumers", told(second), told()],
    ]);
  });

  it("422: one that is not there, or not for the caller; nothing is removed", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    const [first, hidden] = others;
    await org.owner.post(consumersPath(shared), link(first, hidden));
    const team = await makeTeam(api, org.name);
    const admin = await makeMember(api, org.name, [team.id]);
    await grantWorkspace(api, org.id, shared.id, team.id, "admin");
    await grantWorkspace(api, org.id, first.id, team.id, "read");
    for (const method of ["POST", "DELETE"]) {
      const answer = await admin.send(method, consumersPath(shared), link(first, hidden));
      expect([answer.status, pointers(answer), details(answer)]).toEqual([
        422,
        ["/data/1/id"],
        [`Workspace '${hidden.id}' does not exist in this organization, or you are not allowed to see it`],
      ]);
    }
    expect(await consumersOf(org.owner, shared)).toHaveLength(2);
    expect((await admin.delete(consumersPath(shared), link(first))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([hidden.id]);
  });
});

describe("replacing", () => {
  it("204: exactly what is sent, and an empty list clears it", async () => {
    const { org, shared, others } = await makeSharing(api);
    const [first, second, third] = others;
    await org.owner.post(consumersPath(shared), link(first, second));
    expect((await org.owner.patch(consumersPath(shared), link(third, second))).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([second.id, third.id]);
    expect((await org.owner.patch(consumersPath(shared), link(second, third))).status).toBe(204);
    expect((await org.owner.patch(consumersPath(shared), link())).status).toBe(204);
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    expect((await trailOf(org, shared)).slice(0, -1)).toEqual([
      ["workspaces.replace-remote-state-consumers", told(second, third), told()],
      ["workspaces.replace-remote-state-consumers", told(first), told(third)],
    ]);
  });

  it("422: an invalid one leaves the list as it is", async () => {
    const { org, shared, others } = await makeSharing(api, 2);
    await org.owner.post(consumersPath(shared), link(others[0]));
    const answer = await org.owner.patch(consumersPath(shared), link(others[1], shared));
    expect([answer.status, details(answer), pointers(answer)]).toEqual([
      422,
      ["A workspace can't be a consumer of its own state"],
      ["/data/1/id"],
    ]);
    expect(await consumersOf(org.owner, shared)).toEqual([others[0].id]);
  });

  it("412: an If-Match that does not fit the workspace, for PATCH and DELETE", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    for (const method of ["PATCH", "DELETE"]) {
      const stale = await org.owner.send(method, consumersPath(shared), link(others[0]), { "if-match": '"99"' });
      expect(stale.status).toBe(412);
      const etag = (await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag") ?? "";
      const fitting = await org.owner.send(method, consumersPath(shared), link(others[0]), { "if-match": etag });
      expect(fitting.status).toBe(204);
    }
  });
});

describe("an If-Match of a workspace that shows others' changes", () => {
  it("fits as its document has it, and only so", async () => {
    const { org, shared, others } = await makeSharing(api, 1);
    const etagOf = async () => (await org.owner.get(`/workspaces/${shared.id}`)).headers.get("etag") ?? "";
    const before = await etagOf();
    const renamed = resource("organizations", { name: unique("renamed") });
    data(await org.owner.patch(`/organizations/${org.name}`, renamed));
    for (const [etag, status] of [
      [before, 412],
      [await etagOf(), 204],
    ] as const) {
      const answer = await org.owner.send("PATCH", consumersPath(shared), link(others[0]), { "if-match": etag });
      expect(answer.status).toBe(status);
    }
  });
});

describe("whichever change", () => {
  const methods = ["POST", "PATCH", "DELETE"];

  it.each(methods)("%s 422: while the state is shared with the whole organization", async (method) => {
    const { org, shared, others } = await makeSharing(api, 1);
    const body = resource("workspaces", { "global-remote-state": true });
    data(await org.owner.patch(`/workspaces/${shared.id}`, body));
    const answer = await org.owner.send(method, consumersPath(shared), link(others[0]));
    expect([answer.status, details(answer), pointers(answer)]).toEqual([
      422,
      [
        "Remote state consumers can't be changed while global-remote-state is true: every workspace of the organization may read the state. Set it to false first",
      ],
      ["/data"],
    ]);
  });

  it.each(methods)("%s 422: a body of the wrong shape", async (method) => {
    const { org, shared } = await makeSharing(api, 0);
    const send = (body: unknown) => org.owner.send(method, consumersPath(shared), body);
    expect(details(await send({ data: { type: "workspaces", id: "ws-1" } }))).toEqual([
      "The request body must have a member 'data' that is an array of resource identifiers",
    ]);
    const item = `Each item must be {"type": "workspaces", "id": …}`;
    const wrong = await send({ data: [{ type: "projects", id: "prj-1" }, { type: "workspaces" }] });
    expect([wrong.status, details(wrong), pointers(wrong)]).toEqual([422, [item, item], ["/data/0", "/data/1"]]);
    const many = Array.from({ length: 1001 }, () => ({ type: "workspaces", id: "ws-1" }));
    expect(details(await send({ data: many }))).toEqual(["At most 1000 can be named in one request; this names 1001"]);
  });
});
