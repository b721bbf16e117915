/** Background jobs for configuration versions: expired uploads, and archives under a data retention policy. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  failExpiredUploads,
  deleteExpiredArchives,
} from "../../../../src/resources/runs/configuration-versions/cleanup.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../../../support/builders.ts";
import { createConfiguration, uploadConfiguration } from "../../../support/configurations.ts";
import { advanceRun, runBody } from "../../../support/runs.ts";
import { put, jobContextOf } from "../../../support/states.ts";

const api = useApi();
let org: Org;
let workspace: Json;

beforeAll(async () => {
  org = await makeOrganization(api);
});
beforeEach(async () => {
  workspace = await makeWorkspace(api, org.name, { "execution-mode": "remote" });
});

const shown = async (id: string): Promise<Json> => data(await org.owner.get(`/configuration-versions/${id}`));
const statusOf = async (id: string): Promise<string> => (await shown(id)).attributes.status;
const download = async (id: string) => (await org.owner.get(`/configuration-versions/${id}/download`)).status;
const change = (id: string, columns: object) =>
  api.database.write((tx) => tx.db.updateTable("configurationVersions").set(columns).where("id", "=", id).execute());
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const eventsOf = async (id: string): Promise<Json[]> =>
  data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`));

describe("a configuration that was never uploaded", () => {
  it("is errored when its upload URL has expired, with the reason, and accepts no archive", async () => {
    const [late, early] = [
      data(await createConfiguration(org.owner, workspace.id)),
      data(await createConfiguration(org.owner, workspace.id)),
    ];
    const current = async () =>
      data(await org.owner.get(`/workspaces/${workspace.id}`)).relationships["current-configuration-version"].data;
    expect((await current()).id).toBe(late.id);
    await change(late.id, { uploadExpiresAt: daysAgo(1) });
    expect(await failExpiredUploads(jobContextOf(api))).toBe(1);
    const { attributes } = await shown(late.id);
    expect(attributes).toMatchObject({ status: "errored", error: "upload_expired" });
    expect(attributes["error-message"]).toContain("Create a new configuration version");
    expect(attributes["status-timestamps"]).toHaveProperty("finished-at");
    expect(await current()).toBeNull();
    expect((await put(late.attributes["upload-url"], Buffer.from("x"))).status).toBe(409);
    expect(JSON.stringify(await eventsOf(late.id))).toContain("upload_expired");
    expect(await statusOf(early.id)).toBe("pending");
    expect(await failExpiredUploads(jobContextOf(api))).toBe(0);
  });

  it("an uploaded one stays, however old its URL", async () => {
    const version = await uploadConfiguration(org.owner, workspace.id);
    await change(version.id, { uploadExpiresAt: daysAgo(1) });
    expect(await failExpiredUploads(jobContextOf(api))).toBe(0);
    expect(await statusOf(version.id)).toBe("uploaded");
  });
});

const setRetention = (path: string, days: number | null) =>
  org.owner.post(
    `${path}/relationships/data-retention-policy`,
    days === null
      ? resource("data-retention-policy-dont-deletes", {})
      : resource("data-retention-policy-delete-olders", { "delete-older-than-n-days": days }),
  );
const makeOldConfiguration = async (days = 40, target = workspace): Promise<string> => {
  const { id } = await uploadConfiguration(org.owner, target.id);
  await change(id, { createdAt: daysAgo(days) });
  return id;
};

describe("a data retention policy", () => {
  it("of a workspace: deletes older archives, never the current one, a newer one, or another workspace's", async () => {
    const other = await makeWorkspace(api, org.name, { "execution-mode": "remote" });
    const strangers = [await makeOldConfiguration(40, other), await makeOldConfiguration(40, other)];
    const [first, hidden] = [await makeOldConfiguration(), await makeOldConfiguration()];
    const [young, current] = [await makeOldConfiguration(20), await makeOldConfiguration()];
    await org.owner.post(`/configuration-versions/${hidden}/actions/soft_delete_backing_data`);
    data(await setRetention(`/workspaces/${workspace.id}`, 30));
    expect(await deleteExpiredArchives(jobContextOf(api))).toBe(2);
    expect([await statusOf(first), await statusOf(hidden)]).toEqual([
      "backing_data_permanently_deleted",
      "backing_data_permanently_deleted",
    ]);
    expect(await download(first)).toBe(404);
    for (const id of [young, current, ...strangers])
      expect([await statusOf(id), await download(id)]).toEqual(["uploaded", 200]);
    const left = await api.database.reader.db
      .selectFrom("contents")
      .select("id")
      .where("configurationVersionId", "=", first)
      .where("complete", "=", 1)
      .execute();
    expect(left).toEqual([]);
    expect(JSON.stringify(await eventsOf(first))).toContain("permanently-delete-backing-data");
    expect(await deleteExpiredArchives(jobContextOf(api))).toBe(0);
  });

  it("waits for a run in progress", async () => {
    const version = await makeOldConfiguration();
    await makeOldConfiguration();
    const run = data(await org.owner.post("/runs", runBody(workspace.id, {}, version)));
    data(await setRetention(`/workspaces/${workspace.id}`, 30));
    expect(await deleteExpiredArchives(jobContextOf(api))).toBe(0);
    await advanceRun(api, run.id, "errored");
    expect(await deleteExpiredArchives(jobContextOf(api))).toBe(1);
    expect(await statusOf(version)).toBe("backing_data_permanently_deleted");
  });

  it("of the organization: if the workspace has none; no policies in the hosted edition", async () => {
    const exempt = await makeWorkspace(api, org.name, { "execution-mode": "remote" });
    data(await setRetention(`/workspaces/${exempt.id}`, null));
    const [kept] = [await makeOldConfiguration(40, exempt), await makeOldConfiguration(40, exempt)];
    const [gone] = [await makeOldConfiguration(), await makeOldConfiguration()];
    data(await setRetention(`/organizations/${org.name}`, 30));
    expect(await deleteExpiredArchives(jobContextOf(api, { edition: "hosted" }))).toBe(0);
    await deleteExpiredArchives(jobContextOf(api));
    expect([await statusOf(kept), await statusOf(gone)]).toEqual(["uploaded", "backing_data_permanently_deleted"]);
    await org.owner.delete(`/organizations/${org.name}/relationships/data-retention-policy`);
  });
});
