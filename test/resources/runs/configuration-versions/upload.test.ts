/** Uploads to the upload URL: complete, interrupted, slow, repeated and rejected. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { uploadUrl } from "../../../../src/resources/runs/configuration-versions/upload-urls.ts";
import { removeAbandonedUploads } from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { useApi, type Json } from "../../../support/api.ts";
import { archive, part, tar } from "../../../support/archives.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { createConfiguration, configurationUrlOf, fetchBytes, mainTf } from "../../../support/configurations.ts";
import { storeRun, testVault } from "../../../support/phases.ts";
import { put, slowPut, jobContextOf } from "../../../support/states.ts";
import { completeKinds, contentsOf, expectRefused, useStage } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);
const whole = archive([mainTf, { name: "README.md", content: "# Networks\n" }]);

const download = (id: string) => fetchBytes(api, stage.owner, `/configuration-versions/${id}/download`);
const send = (version: Json, bytes: Uint8Array | string) => put(configurationUrlOf(version), bytes);
const statusOf = async (id: string) => (await stage.show(id)).attributes.status;

describe("uploadConfiguration: 200", () => {
  it("needs no token; the status has changed when the response arrives", async () => {
    const version = await stage.createVersion();
    const answer = await send(version, whole);
    expect([answer.status, answer.body]).toEqual([200, undefined]);
    const { attributes } = await stage.show(version.id);
    expect(attributes).toMatchObject({ status: "uploaded", error: null, "error-message": null, "upload-url": null });
    expect(Object.keys(attributes["status-timestamps"])).toEqual(["queued-at", "started-at", "finished-at"]);
    expect(await stage.currentId()).toBe(version.id);
  });

  it("returns the exact bytes, also of many chunks", async () => {
    const large = archive([mainTf, { name: "random", content: randomBytes(3 * 1024 * 1024) }]);
    for (const bytes of [whole, large]) {
      const version = await stage.createVersion();
      expect((await send(version, bytes)).status).toBe(200);
      const fetched = await download(version.id);
      expect([fetched.status, fetched.type, fetched.bytes.equals(bytes)]).toEqual([200, "application/gzip", true]);
    }
  });

  it("in arbitrary parts, slowly", async () => {
    const version = await stage.createVersion();
    const sending = slowPut(configurationUrlOf(version));
    for (const byte of whole) await sending.write(Buffer.of(byte));
    expect(await statusOf(version.id)).toBe("pending");
    expect((await sending.end()).status).toBe(200);
    expect((await download(version.id)).bytes.equals(whole)).toBe(true);
  });

  it("again with the same bytes, if the first response was lost", async () => {
    const version = await stage.createVersion();
    for (let time = 0; time < 3; time += 1) expect((await send(version, whole)).status).toBe(200);
    expect(await completeKinds(api, version.id)).toEqual(["archive", "readme"]);
    const events = await stage.auditEvents(version.id);
    expect(events.map(({ action }) => action)).toEqual([
      "configuration-versions.create",
      "configuration-versions.upload",
    ]);
  });

  it("with other bytes replaces the first, as long as no run uses it", async () => {
    const version = await stage.createVersion();
    await send(version, whole);
    expect(await stage.readmeId()).toBe(version.id);
    const other = archive([{ ...mainTf, content: "" }]);
    expect((await send(version, other)).status).toBe(200);
    expect((await download(version.id)).bytes.equals(other)).toBe(true);
    expect(await completeKinds(api, version.id)).toEqual(["archive"]);
    expect(await stage.readmeId()).toBeNull();
    expect((await send(version, whole)).status).toBe(200);
    expect(await stage.readmeId()).toBe(version.id);
  });

  it("two at the same time leave one complete archive", async () => {
    const other = archive([{ ...mainTf, content: "other" }]);
    for (let time = 0; time < 5; time += 1) {
      const version = await stage.createVersion();
      const answers = await Promise.all([send(version, whole), send(version, other), send(version, whole)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const { bytes } = await download(version.id);
      expect(bytes.equals(whole) || bytes.equals(other)).toBe(true);
      expect((await completeKinds(api, version.id)).filter((kind) => kind === "archive")).toHaveLength(1);
    }
  });

  it("writes an audit event in the name of the version's creator", async () => {
    const version = await stage.createVersion();
    await send(version, whole);
    const event = (await stage.auditEvents(version.id)).at(-1);
    expect(event).toMatchObject({ action: "configuration-versions.upload", "actor-id": stage.org.owner.id });
    expect([event.before, event.after]).toEqual([{ status: "pending" }, { status: "uploaded", size: whole.length }]);
  });
});

describe("uploadConfiguration: a rejected archive", () => {
  it.each<[string, Buffer, string, RegExp]>([
    ["text", Buffer.from("resource {}"), "not_gzip", /This is not a gzip archive/],
    ["nothing", Buffer.alloc(0), "truncated", /is incomplete/],
    ["half of it", whole.subarray(0, whole.length / 2), "truncated", /is incomplete/],
    ["damaged", gzipSync("no tar ".repeat(200)), "corrupt", /is damaged/],
    ["something after it", Buffer.concat([whole, Buffer.alloc(3)]), "trailing_data", /followed by other data/],
    ["an absolute name", archive([{ ...mainTf, name: "/etc/x" }]), "name_absolute", /'\/etc\/x' is absolute/],
    ["'..'", archive([{ ...mainTf, name: "../x" }]), "name_outside", /'\.\.\/x' leads out/],
    ["a link to outside", archive([{ name: "a", type: "2", target: "/etc/passwd" }]), "link_outside", /'a' leads out/],
    ["a device", archive([{ name: "a", type: "3" }]), "special_file", /device or a pipe/],
    ["a file that runs as its owner", archive([{ ...mainTf, mode: 0o4755 }]), "set_user_id", /mode 4755/],
  ])("422, and the version has the error: %s", async (_, bytes, word, sentence) => {
    const version = await stage.createVersion();
    expect(await stage.currentId()).toBe(version.id);
    expectRefused(await send(version, bytes), 422, sentence);
    const { attributes } = await stage.show(version.id);
    expect(attributes).toMatchObject({ status: "errored", error: word });
    expect(attributes["error-message"]).toMatch(sentence);
    expect(attributes["status-timestamps"]).toHaveProperty("finished-at");
    expect(await completeKinds(api, version.id)).toEqual([]);
    expect(await stage.currentId()).toBeNull();
    expect((await download(version.id)).status).toBe(404);
    expectRefused(await send(version, whole), 409, /is errored and does not accept an archive any more/);
    const event = (await stage.auditEvents(version.id)).at(-1);
    expect(event.after).toMatchObject({ status: "errored", error: word });
  });

  it("does not affect an earlier archive", async () => {
    const version = await stage.createVersion();
    await send(version, whole);
    expectRefused(await send(version, "no archive"), 422, /not a gzip/);
    expect(await statusOf(version.id)).toBe("uploaded");
    expect((await download(version.id)).bytes.equals(whole)).toBe(true);
  });
});

describe("uploadConfiguration: refused, and nothing changes", () => {
  it("400: an interrupted upload, which can be repeated", async () => {
    const bytes = archive([mainTf, { name: "random", content: randomBytes(1024 * 1024) }]);
    const version = await stage.createVersion();
    const sending = slowPut(configurationUrlOf(version));
    await sending.write(bytes.subarray(0, bytes.length / 2));
    await expect.poll(() => contentsOf(api, version.id)).toHaveLength(1);
    sending.breakOff();
    await expect.poll(() => contentsOf(api, version.id)).toEqual([]);
    expect(await statusOf(version.id)).toBe("pending");
    expect((await send(version, bytes)).status).toBe(200);
    expect((await download(version.id)).bytes.equals(bytes)).toBe(true);
    await removeAbandonedUploads(jobContextOf(api));
    const orphans = api.database.reader.db
      .selectFrom("contents")
      .select("id")
      .where("configurationVersionId", "is", null);
    expect(await orphans.where("stateVersionId", "is", null).where("runId", "is", null).execute()).toEqual([]);
    expect((await download(version.id)).bytes.equals(bytes)).toBe(true);
  });

  it("404: a URL with an invalid signature, or one for another version", async () => {
    const [version, other] = [await stage.createVersion(), await stage.createVersion()];
    const url = configurationUrlOf(version);
    const wrong = [
      `${url.slice(0, -10)}nonexisting`,
      url.replace(/expires=\d+/, "expires=99999999999999"),
      url.replace(version.id, other.id),
      url.replace(/\?.*/, ""),
      url.replace(/&signature=.*/, ""),
    ];
    for (const each of wrong) expectRefused(await put(each, whole), 404, /There is no such upload/);
    expect(await statusOf(version.id)).toBe("pending");
  });

  it("404: the version was deleted", async () => {
    const workspace = await makeWorkspace(api, stage.org.name);
    const version = data(await createConfiguration(stage.owner, workspace.id));
    data(await stage.owner.delete(`/workspaces/${workspace.id}`));
    expectRefused(await send(version, whole), 404, /There is no such upload/);
  });

  it("403: a URL that has expired", async () => {
    const version = await stage.createVersion();
    const past = new Date(Date.now() - 1000).toISOString();
    const context = { vault: testVault, options: { publicUrl: api.url } as never };
    const url = uploadUrl(context, { id: version.id, uploadExpiresAt: past });
    expectRefused(await put(url, whole), 403, /has expired\. Create the configuration version again/);
    expect(await statusOf(version.id)).toBe("pending");
  });

  it("409: other bytes if a run uses the archive; the same bytes are accepted", async () => {
    const version = await stage.createVersion();
    await send(version, whole);
    await storeRun(api, stage.workspace, stage.org.id, { configurationVersionId: version.id });
    expect((await send(version, whole)).status).toBe(200);
    expectRefused(await send(version, archive([mainTf])), 409, /already has a different archive, and a run uses it/);
    expect((await download(version.id)).bytes.equals(whole)).toBe(true);
  });

  it("409: a version that is archived", async () => {
    const version = await stage.createVersion();
    await send(version, whole);
    await stage.uploadVersion();
    expect((await stage.postAction(version.id, "archive")).status).toBe(202);
    expectRefused(
      await send(version, whole),
      409,
      /The configuration version is archived and does not accept an archive any more/,
    );
  });

  it("429: the fifth concurrent upload for one version", async () => {
    const version = await stage.createVersion();
    const sending = Array.from({ length: 4 }, () => slowPut(configurationUrlOf(version)));
    await Promise.all(sending.map((each) => each.write(whole.subarray(0, 5))));
    await expect.poll(async () => (await contentsOf(api, version.id)).length).toBe(4);
    expectRefused(await send(version, whole), 429, /Too many configurations/);
    for (const each of sending) expect((await each.end(whole.subarray(5))).status).toBe(200);
    expect((await send(version, whole)).status).toBe(200);
  });
});

describe("an upload with a server error", () => {
  it("500 if the database fails at the end: the version stays pending", async () => {
    const version = await stage.createVersion();
    const write = api.database.write.bind(api.database);
    const failing = vi.spyOn(api.database, "write");
    let count = 0;
    failing.mockImplementation(async (work) => {
      count += 1;
      // The first write begins the content, the second adds its chunk, the third finalizes the version.
      if (count === 3) throw new Error("the disk is full");
      return write(work);
    });
    try {
      expect((await send(version, whole)).status).toBe(500);
    } finally {
      failing.mockRestore();
    }
    expect(await statusOf(version.id)).toBe("pending");
    expect((await send(version, whole)).status).toBe(200);
  });
});

describe("the readme", () => {
  const text = "# Networks\nä \u{1F600}\n";
  const readmes = async () => (await stage.showWorkspace("?include=readme")).included;

  it("of the current configuration is the workspace's", async () => {
    expect(await readmes()).toEqual([]);
    const first = await stage.uploadVersion({}, [mainTf, { name: "README.md", content: text }]);
    expect(await readmes()).toEqual([{ id: first.id, type: "workspace-readme", attributes: { "raw-markdown": text } }]);
    // Not that of a speculative one.
    await stage.uploadVersion({ speculative: true }, [{ name: "README.md", content: "another" }]);
    expect(await stage.readmeId()).toBe(first.id);
    const second = await stage.uploadVersion({}, [{ name: "readme", content: "small" }]);
    expect((await readmes())[0]).toMatchObject({ id: second.id, attributes: { "raw-markdown": "small" } });
    await stage.uploadVersion({}, [mainTf]);
    expect(await stage.readmeId()).toBeNull();
    expect(await readmes()).toEqual([]);
  });

  it("is that of the working directory", async () => {
    const directory = { data: { type: "workspaces", attributes: { "working-directory": "/modules/network/" } } };
    data(await stage.owner.patch(`/workspaces/${stage.workspace.id}`, directory));
    const entries = [
      { name: "README.md", content: "the repository's" },
      { name: "modules/network/README.md", content: "the module's" },
    ];
    await stage.uploadVersion({}, entries);
    expect((await readmes())[0].attributes["raw-markdown"]).toBe("the module's");
  });

  itInGate("of 1 MiB that does not compress is returned complete; a larger one is ignored", async () => {
    const large = randomBytes(512 * 1024).toString("hex");
    await stage.uploadVersion({}, [{ name: "README.md", content: large }]);
    expect((await readmes())[0].attributes["raw-markdown"]).toBe(large);
    await stage.uploadVersion({}, [{ name: "README.md", content: `${large}!` }]);
    expect(await readmes()).toEqual([]);
  });
});

it("an empty tar archive is a configuration without files", async () => {
  const version = await stage.createVersion();
  expect((await send(version, gzipSync(tar([part({ name: "./", type: "5" })])))).status).toBe(200);
});
