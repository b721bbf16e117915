/** Reading, downloading, archiving and deleting configurations, and their commits. */
import { describe, expect, it } from "vitest";
import { receiveFetchedArchive } from "../../../../src/resources/runs/configuration-versions/upload.ts";
import { makeAppliedConfigurationCurrent } from "../../../../src/resources/runs/configuration-versions/writes.ts";
import { now } from "../../../../src/kernel/time.ts";
import { type Json, startApi, useApi } from "../../../support/api.ts";
import { archive, inPieces } from "../../../support/archives.ts";
import { data } from "../../../support/builders.ts";
import { makeRunCaller } from "../../../support/agent-callers.ts";
import {
  createConfiguration,
  commit,
  fetchBytes,
  mainTf,
  uploadConfiguration,
  storeCommit,
} from "../../../support/configurations.ts";
import { storeRun } from "../../../support/phases.ts";
import { advanceRun, applyTransition, runBody, showRun } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";
import { completeKinds, expectRefused, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);
const whole = archive([mainTf]);
const workspaceKey = () => ({ id: stage.workspace.id, organizationId: stage.org.id });
const member = async (level: "read" | "plan" | "write" | "admin") => {
  const team = await api.makeTeam(stage.org.name);
  await api.grantWorkspace(stage.workspace.id, team.id, level);
  return api.makeMember(stage.org.name, [team.id]);
};

describe("listConfigurationVersions", () => {
  it("is paged, the newest first", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await stage.createVersion()).id);
    const path = `/workspaces/${stage.workspace.id}/configuration-versions`;
    const { body } = await stage.owner.get(`${path}?page[size]=2`);
    expect(body.data.map(({ id }: Json) => id)).toEqual(ids.slice(0, 2));
    expect(body.meta.pagination).toMatchObject({ "current-page": 1, "total-count": 3, "total-pages": 2 });
    const beyond = (await stage.owner.get(`${path}?page[number]=999&page[size]=100`)).body;
    expect([beyond.data, beyond.meta.pagination["total-count"]]).toEqual([[], 3]);
    expect(data(await (await member("read")).get(path))).toHaveLength(3);
  });

  it("404: a caller who can't see the workspace", async () => {
    const stranger = await api.makeMember(stage.org.name);
    const path = `/workspaces/${stage.workspace.id}/configuration-versions`;
    expectRefused(await stranger.get(path), 404, /There is no such workspace/);
  });
});

describe("showConfigurationVersion", () => {
  it("with its latest run and its commit, if requested", async () => {
    const { id } = await storeCommit(api, workspaceKey());
    const earlier = await storeRun(api, stage.workspace, stage.org.id, {
      configurationVersionId: id,
      createdAt: "2026-01-01T00:00:00.000Z",
    });
    const later = await storeRun(api, stage.workspace, stage.org.id, { configurationVersionId: id });
    expect(earlier.id).not.toBe(later.id);
    const { body } = await stage.owner.get(`/configuration-versions/${id}?include=ingress_attributes,run`);
    expect(body.data.relationships.run.data).toEqual({ id: later.id, type: "runs" });
    const ingress = body.included.find(({ type }: Json) => type === "ingress-attributes");
    expect(body.data.relationships["ingress-attributes"].data).toEqual({ id: ingress.id, type: "ingress-attributes" });
    expect(body.included.map(({ id: each }: Json) => each)).toEqual([ingress.id, later.id]);
    const listed = (await stage.owner.get(`/workspaces/${stage.workspace.id}/configuration-versions?include=run`)).body;
    expect(listed.data[0].relationships.run.data.id).toBe(later.id);
    expect((await stage.show(id)).relationships.run).toBeUndefined();
    const without = await stage.createVersion();
    const shown = data(await stage.owner.get(`/configuration-versions/${without.id}?include=run`));
    expect(shown.relationships.run.data).toBeNull();
  });

  it("404: an unknown one, and one of another organization", async () => {
    const { id } = await stage.createVersion();
    expectRefused(await stage.owner.get("/configuration-versions/cv-none"), 404, /no such configuration version/);
    const other = await api.makeOrganization();
    expectRefused(await other.owner.get(`/configuration-versions/${id}`), 404, /no such configuration version/);
  });
});

describe("a run's configuration", () => {
  it("can be read by readers of the run, even if it belongs to another workspace", async () => {
    const elsewhere = await api.makeWorkspace(stage.org.name);
    const version = await uploadConfiguration(stage.owner, elsewhere.id);
    const run = await storeRun(api, stage.workspace, stage.org.id, { configurationVersionId: version.id });
    const reader = await member("read");
    expect(data(await reader.get(`/runs/${run.id}/configuration-version`)).id).toBe(version.id);
    const fetched = await fetchBytes(api, reader, `/runs/${run.id}/configuration-version/download`);
    expect([fetched.status, fetched.bytes.equals(whole)]).toEqual([200, true]);
    expect((await reader.get(`/configuration-versions/${version.id}`)).status).toBe(404);
  });

  it("can be downloaded with the run's own token, and no other configuration can", async () => {
    const elsewhere = await api.makeWorkspace(stage.org.name);
    const [own, promoted] = [await stage.uploadVersion(), await uploadConfiguration(stage.owner, elsewhere.id)];
    const run = await makeRunCaller(api, workspaceKey());
    const use = (configurationVersionId: string) =>
      api.database.write((tx) =>
        tx.db.updateTable("runs").set({ configurationVersionId }).where("id", "=", run.runId).execute(),
      );
    const statuses = async () => {
      const paths = [
        `/runs/${run.runId}/configuration-version`,
        `/configuration-versions/${own.id}`,
        `/configuration-versions/${promoted.id}`,
      ];
      const fetched = await Promise.all(paths.map((path) => fetchBytes(api, run, `${path}/download`)));
      return fetched.map(({ status }) => status);
    };
    await use(own.id);
    expect(await statuses()).toEqual([200, 200, 404]);
    await use(promoted.id);
    expect(await statuses()).toEqual([200, 200, 404]);
    expect((await createConfiguration(run, stage.workspace.id)).status).toBe(404);
    expect((await stage.postAction(own.id, "archive", run)).status).toBe(404);
  });

  it("404: a run without one, an unknown run, and one that the caller can't see", async () => {
    const run = await storeRun(api, stage.workspace, stage.org.id);
    const stranger = await api.makeMember(stage.org.name);
    for (const path of ["", "/download"]) {
      expect((await stage.owner.get(`/runs/${run.id}/configuration-version${path}`)).status).toBe(404);
      expect((await stage.owner.get(`/runs/run-none/configuration-version${path}`)).status).toBe(404);
      expect((await stranger.get(`/runs/${run.id}/configuration-version${path}`)).status).toBe(404);
    }
  });
});

describe("downloadConfiguration", () => {
  it("404: before it is uploaded", async () => {
    const { id } = await stage.createVersion();
    expectRefused(await stage.owner.get(`/configuration-versions/${id}/download`), 404, /no such configuration/);
  });
});

describe("archiveConfigurationVersion", () => {
  it("202: deletes the archive, and keeps the version", async () => {
    const first = await stage.uploadVersion({}, [mainTf, { name: "README", content: "a" }]);
    await stage.uploadVersion();
    const answer = await stage.postAction(first.id, "archive", await member("plan"));
    expect([answer.status, answer.body]).toEqual([202, undefined]);
    const { attributes } = await stage.show(first.id);
    expect(attributes.status).toBe("archived");
    expect(attributes["status-timestamps"]).toHaveProperty("archived-at");
    expect((await stage.owner.get(`/configuration-versions/${first.id}/download`)).status).toBe(404);
    expect(await completeKinds(api, first.id)).toEqual([]);
    const event = (await stage.auditEvents(first.id)).at(-1);
    expect([event.action, event.before, event.after]).toEqual([
      "configuration-versions.archive",
      { status: "uploaded" },
      { status: "archived" },
    ]);
    expectRefused(await stage.postAction(first.id, "archive"), 409, /because it is archived and not uploaded/);
  });

  it("409: the current one, with the text that clients match", async () => {
    const { id } = await stage.uploadVersion();
    const answer = await stage.postAction(id, "archive");
    expectRefused(answer, 409, /transition not allowed: configuration could not be archived because it is current/);
  });

  it("409: one that is not uploaded", async () => {
    await stage.uploadVersion();
    const { id } = await stage.createVersion();
    expectRefused(await stage.postAction(id, "archive"), 409, /transition not allowed.*it is pending/);
  });

  it("409: one with a run in progress, until that has ended", async () => {
    const { id } = await stage.uploadVersion();
    await stage.uploadVersion();
    const run = await storeRun(api, stage.workspace, stage.org.id, { configurationVersionId: id });
    expectRefused(await stage.postAction(id, "archive"), 409, /transition not allowed.*a run with it is in progress/);
    await api.database.write((tx) =>
      tx.db.updateTable("runs").set({ endedAt: now() }).where("id", "=", run.id).execute(),
    );
    expect((await stage.postAction(id, "archive")).status).toBe(202);
  });

  it("409: one from version control", async () => {
    const { id } = await storeCommit(api, workspaceKey());
    expectRefused(await stage.postAction(id, "archive"), 409, /transition not allowed.*version control/);
  });

  it("403: a caller who can only read; 404: an unknown one", async () => {
    const { id } = await stage.uploadVersion();
    expectRefused(await stage.postAction(id, "archive", await member("read")), 403, /can-queue-run/);
    expectRefused(await stage.postAction("cv-none", "archive"), 404, /no such configuration version/);
  });
});

describe("backing data", () => {
  const fetched = async (id: string) => (await stage.owner.get(`/configuration-versions/${id}/download`)).status;
  const statusOf = async (id: string) => (await stage.show(id)).attributes.status;

  it("200: soft-deleted, restored, soft-deleted and permanently deleted", async () => {
    const { id } = await stage.uploadVersion();
    await stage.uploadVersion();
    const admin = await member("admin");
    for (const [action, status, download] of [
      ["soft_delete", "backing_data_soft_deleted", 404],
      ["restore", "uploaded", 200],
      ["soft_delete", "backing_data_soft_deleted", 404],
      ["permanently_delete", "backing_data_permanently_deleted", 404],
    ] as const) {
      const answer = await stage.postAction(id, `${action}_backing_data`, admin);
      expect([answer.status, answer.body]).toEqual([200, undefined]);
      expect([await statusOf(id), await fetched(id)]).toEqual([status, download]);
    }
    expect(await completeKinds(api, id)).toEqual([]);
    const actions = (await stage.auditEvents(id)).map(({ action }) => action);
    expect(actions.slice(-2)).toEqual([
      "configuration-versions.soft-delete-backing-data",
      "configuration-versions.permanently-delete-backing-data",
    ]);
    for (const action of ["soft_delete", "restore", "permanently_delete"])
      expectRefused(await stage.postAction(id, `${action}_backing_data`), 400, /transition not allowed/);
  });

  it("400: the current one, one with a run in progress, and one that is not soft-deleted", async () => {
    const { id } = await stage.uploadVersion();
    expectRefused(
      await stage.postAction(id, "soft_delete_backing_data"),
      400,
      /transition not allowed.*the workspace's current one/,
    );
    expectRefused(
      await stage.postAction(id, "restore_backing_data"),
      400,
      /transition not allowed.*(it is|is) uploaded/,
    );
    expectRefused(
      await stage.postAction(id, "permanently_delete_backing_data"),
      400,
      /only one that is backing_data_soft_deleted/,
    );
    await stage.uploadVersion();
    await storeRun(api, stage.workspace, stage.org.id, { configurationVersionId: id });
    expectRefused(await stage.postAction(id, "soft_delete_backing_data"), 400, /transition not allowed.*in progress/);
  });

  it("403: a caller without admin access to the workspace", async () => {
    const { id } = await stage.uploadVersion();
    const writer = await member("write");
    for (const action of ["soft_delete", "restore", "permanently_delete"])
      expectRefused(await stage.postAction(id, `${action}_backing_data`, writer), 403, /admin access to the workspace/);
  });

  it("404 in the hosted edition", async () => {
    const hosted = await startApi({ options: { edition: "hosted" } });
    try {
      const org = await hosted.makeOrganization();
      const workspace = await hosted.makeWorkspace(org.name);
      const { id } = await uploadConfiguration(org.owner, workspace.id);
      await uploadConfiguration(org.owner, workspace.id);
      for (const action of ["soft_delete", "restore", "permanently_delete"])
        expect((await org.owner.post(`/configuration-versions/${id}/actions/${action}_backing_data`)).status).toBe(404);
    } finally {
      await hosted.stop();
    }
  });
});

describe("a configuration from version control", () => {
  it("is fetching, then uploaded; its commit is shown", async () => {
    const version = await storeCommit(api, workspaceKey(), { autoQueueRuns: false });
    const shown = await stage.show(version.id);
    expect(shown.attributes).toMatchObject({ status: "fetching", source: "github", "upload-url": null });
    expect(Object.keys(shown.attributes["status-timestamps"])).toEqual(["queued-at", "fetching-at"]);
    await receiveFetchedArchive(jobContextOf(api), version.id, inPieces(whole));
    expect((await stage.show(version.id)).attributes.status).toBe("uploaded");
    expect(await stage.currentId()).toBe(version.id);
    const ingress = data(await stage.owner.get(`/configuration-versions/${version.id}/ingress-attributes`));
    expect(ingress).toMatchObject({
      id: version.ingressId,
      type: "ingress-attributes",
      attributes: {
        branch: "main",
        "commit-sha": commit.ingress.commitSha,
        "is-pull-request": false,
        "on-default-branch": true,
        "pull-request-number": null,
        "sender-username": "ada",
      },
      relationships: { "created-by": { data: null } },
    });
    const { included } = await stage.showWorkspace("?include=current_configuration_version.ingress_attributes");
    expect(included.map(({ type }: Json) => type)).toEqual(["configuration-versions", "ingress-attributes"]);
  });

  it("that is not an archive is errored, with the reason", async () => {
    const broken = await storeCommit(api, workspaceKey());
    await expect(receiveFetchedArchive(jobContextOf(api), broken.id, inPieces(Buffer.from("no")))).rejects.toThrow(
      /not a gzip/,
    );
    expect((await stage.show(broken.id)).attributes).toMatchObject({ status: "errored", error: "not_gzip" });
  });

  it("404: the commit of one that was uploaded", async () => {
    const { id } = await stage.createVersion();
    expectRefused(await stage.owner.get(`/configuration-versions/${id}/ingress-attributes`), 404, /no such commit/);
  });
});

describe("a provisional configuration", () => {
  const applied = async (configurationVersionId: string) => {
    const currentConfigurationVersionId = await stage.currentId();
    const run = {
      organizationId: stage.org.id,
      workspaceId: stage.workspace.id,
      configurationVersionId,
      currentConfigurationVersionId,
    };
    await api.database.write((tx) => makeAppliedConfigurationCurrent(tx, run as never));
  };

  it("becomes current when a run with it is applied", async () => {
    const provisional = await stage.uploadVersion({ provisional: true }, [{ name: "README.md", content: "a" }]);
    await applied(provisional.id);
    expect([await stage.currentId(), await stage.readmeId()]).toEqual([provisional.id, provisional.id]);
    const next = await stage.uploadVersion({ provisional: true });
    await applied(next.id);
    expect([await stage.currentId(), await stage.readmeId()]).toEqual([next.id, null]);
  });

  it("is included with the run, and becomes current when the run is applied", async () => {
    const before = await stage.uploadVersion();
    const { id } = await stage.uploadVersion({ provisional: true }, [mainTf, { name: "README", content: "a" }]);
    const answer = await stage.owner.post("/runs", runBody(stage.workspace.id, { "auto-apply": false }, id));
    const run = data(answer);
    const { body } = await stage.owner.get(`/runs/${run.id}?include=configuration_version`);
    expect(body.included).toEqual([await stage.show(id)]);
    await advanceRun(api, run.id, "planned");
    expect((await stage.owner.post(`/runs/${run.id}/actions/apply`)).status).toBe(202);
    await applyTransition(api, run.id, { event: "claim" });
    expect(await stage.currentId()).toBe(before.id);
    await applyTransition(api, run.id, { event: "phase-finished" });
    expect((await showRun(stage.owner, run.id)).attributes.status).toBe("applied");
    expect([await stage.currentId(), await stage.readmeId()]).toEqual([id, id]);
  });

  it("does not if a newer one is current", async () => {
    const provisional = await stage.uploadVersion({ provisional: true });
    const newer = await stage.uploadVersion();
    await applied(provisional.id);
    expect(await stage.currentId()).toBe(newer.id);
  });

  it("nor does another workspace's, or a speculative one", async () => {
    const elsewhere = await api.makeWorkspace(stage.org.name);
    await applied((await uploadConfiguration(stage.owner, elsewhere.id, { provisional: true })).id);
    await applied((await stage.uploadVersion({ provisional: true, speculative: true })).id);
    expect(await stage.currentId()).toBeNull();
  });
});
