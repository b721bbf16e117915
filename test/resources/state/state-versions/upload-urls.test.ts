/**
 * Upload URLs are credentials: only signed ones work, only for what they were signed for, and only until they expire.
 */
import { describe, expect, it, vi } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, type Member, resource } from "../../../support/builders.ts";
import { makeRunCaller } from "../../../support/agent-callers.ts";
import { uploadUrl } from "../../../../src/resources/state/state-versions/arrival/upload-urls.ts";
import { createVault } from "../../../../src/database/vault.ts";
import { pendingStateAttributes, lock, post, put, stateOf, vault } from "../../../support/states.ts";
import { contentsOf, expectRefused, expectSent, jsonUploadUrlOf, uploadUrlOf, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const hourMs = 60 * 60 * 1000;
const noUpload = /^There is no such upload, or you are not allowed to see it\./;
const expired = "This upload URL has expired. Create the state version again and use its new upload URL.";

/** As a server with this key would sign it. */
const signed = (id: string, kind: "state" | "json", expiresAt: Date, by = vault): string =>
  uploadUrl({ vault: by, options: { publicUrl: api.url } as never }, id, kind, expiresAt.toISOString());

/** The same URL with another parameter. */
function changed(url: string, parameter: string, value: string | null): string {
  const copy = new URL(url);
  if (value === null) copy.searchParams.delete(parameter);
  else copy.searchParams.set(parameter, value);
  return copy.toString();
}

const parameterOf = (url: string, name: string): string => new URL(url).searchParams.get(name) ?? "";

describe("a URL that the service did not sign is 404", () => {
  async function awaited(): Promise<{ version: Json; other: Json }> {
    await stage.lock();
    const other = await stage.announce(stateOf());
    return { other, version: await stage.announce(stateOf({ serial: 2 })) };
  }
  const flipped = (signature: string) => (signature[0] === "A" ? "B" : "A") + signature.slice(1);

  it.each<[string, (urls: { version: Json; other: Json }) => string]>([
    [
      "a changed signature",
      ({ version: { attributes } }) => {
        const url = attributes["hosted-state-upload-url"];
        return changed(url, "signature", flipped(parameterOf(url, "signature")));
      },
    ],
    [
      "a shorter signature",
      ({ version }) =>
        changed(uploadUrlOf(version), "signature", parameterOf(uploadUrlOf(version), "signature").slice(0, -4)),
    ],
    ["an empty signature", ({ version }) => changed(uploadUrlOf(version), "signature", "")],
    ["no signature", ({ version }) => changed(uploadUrlOf(version), "signature", null)],
    ["no time", ({ version }) => changed(uploadUrlOf(version), "expires", null)],
    [
      "a later time",
      ({ version }) =>
        changed(uploadUrlOf(version), "expires", String(Number(parameterOf(uploadUrlOf(version), "expires")) + 1)),
    ],
    [
      "another version's signature",
      ({ version, other }) => changed(uploadUrlOf(version), "signature", parameterOf(uploadUrlOf(other), "signature")),
    ],
    ["another version's id", ({ version, other }) => uploadUrlOf(other).replace(other.id, version.id)],
    ["the URL of the JSON form", ({ version }) => jsonUploadUrlOf(version).replace("/json-upload", "/upload")],
    [
      "another key's signature",
      ({ version }) => signed(version.id, "state", new Date(Date.now() + hourMs), createVault(Buffer.alloc(32, 8))),
    ],
  ])("%s", async (_, forge) => {
    const urls = await awaited();
    expectRefused(await put(forge(urls), stateOf({ serial: 2 })), 404, noUpload);
    expect(await contentsOf(api, urls.version.id)).toEqual([]);
    expect(await stage.status(urls.version.id)).toBe("pending");
  });

  it("the state's URL for the JSON form", async () => {
    const { version } = await awaited();
    expectRefused(await put(uploadUrlOf(version).replace("/upload", "/json-upload"), "{}"), 404, noUpload);
  });

  it("nothing but PUT, and a token does not help", async () => {
    const { version } = await awaited();
    const path = `/api/v2/state-versions/${version.id}/upload`;
    expect((await stage.owner.send("PUT", path, "{}")).status).toBe(404);
    for (const method of ["GET", "POST", "PATCH", "DELETE"])
      expect((await fetch(uploadUrlOf(version), { method })).status, method).toBe(401);
  });

  it("a signed URL of an unknown version", async () => {
    const url = signed("sv-neverneverneverx", "state", new Date(Date.now() + hourMs));
    expectRefused(await put(url, stateOf()), 404, noUpload);
  });

  it("a large body is read to its end, so that the response arrives and the connection stays open", async () => {
    const { version } = await awaited();
    const url = changed(uploadUrlOf(version), "signature", "AAAA");
    for (let time = 0; time < 3; time += 1) expect((await put(url, "x".repeat(3_000_000))).status).toBe(404);
  });
});

describe("a URL expires", () => {
  it("403 afterwards", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    expectRefused(await put(signed(version.id, "state", new Date(Date.now() - 1)), stateOf()), 403, expired);
    expectRefused(await put(signed(version.id, "json", new Date(Date.now() - 1)), "{}"), 403, expired);
    expect(await contentsOf(api, version.id)).toEqual([]);
  });

  it("after an hour", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    const madeAt = Date.parse(version.attributes["created-at"]);
    try {
      vi.useFakeTimers({ toFake: ["Date"], now: madeAt + hourMs + 1 });
      expectRefused(await put(uploadUrlOf(version), stateOf()), 403, expired);
      vi.setSystemTime(madeAt + hourMs - 1000);
      expectSent(await put(uploadUrlOf(version), stateOf()));
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a URL works while its holder can write the state", () => {
  async function announcedBy(): Promise<{ version: Json; member: Member; grantId: string }> {
    const team = await api.makeTeam(stage.org.name);
    const grantId = await api.grantWorkspace(stage.workspace.id, team.id, "write");
    const member = await api.makeMember(stage.org.name, [team.id]);
    await stage.lock(member);
    return { version: await stage.announce(stateOf(), {}, member), member, grantId };
  }

  it("refused after access was reduced or removed, and a force-unlock does not make it current", async () => {
    const { version, grantId } = await announcedBy();
    const setAccess = (access: string) =>
      api.admin.patch(`/team-workspaces/${grantId}`, resource("team-workspaces", { access }));
    data(await setAccess("plan"));
    expectRefused(await put(uploadUrlOf(version), stateOf()), 403, /can-create-state-versions/);
    data(await setAccess("write"));
    expectSent(await put(uploadUrlOf(version), stateOf()));
    data(await api.admin.delete(`/team-workspaces/${grantId}`));
    expectRefused(await put(jsonUploadUrlOf(version), "{}"), 404, /no such workspace/);
    expect(await contentsOf(api, version.id)).toHaveLength(1);
  });

  it("403: the token was revoked", async () => {
    const { version, member } = await announcedBy();
    const [token] = data(await member.get(`/users/${member.id}/authentication-tokens`));
    data(await api.admin.delete(`/authentication-tokens/${token.id}`));
    for (const [url, content] of [
      [uploadUrlOf(version), stateOf()],
      [jsonUploadUrlOf(version), "{}"],
    ] as const)
      expectRefused(await put(url, content), 403, /expired or was revoked/);
    await stage.forceUnlock();
    expect(await stage.currentId()).toBeNull();
  });

  it("403: the run that applied has ended", async () => {
    const run = await makeRunCaller(api, { id: stage.workspace.id, organizationId: stage.org.id }, { holding: true });
    const version = data(await post(run, stage.workspace.id, pendingStateAttributes(stateOf())));
    expectSent(await put(uploadUrlOf(version), stateOf()));
    await api.database.write((tx) =>
      tx.db
        .updateTable("runPhases")
        .set({ status: "finished", tokenHash: null })
        .where("id", "=", run.phaseId)
        .execute(),
    );
    expectRefused(await put(jsonUploadUrlOf(version), "{}"), 403, /a run that has ended/);
  });
});

describe("a URL of a deleted version or workspace", () => {
  it("409: the version was discarded", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    await stage.forceUnlock();
    const sentence =
      "This state version can't be uploaded to: its status is discarded. Lock the workspace and create a new state version.";
    expectRefused(await put(uploadUrlOf(version), stateOf()), 409, sentence);
    expectRefused(await put(jsonUploadUrlOf(version), "{}"), 409, sentence);
  });

  it("409: its content was deleted", async () => {
    const version = await stage.upload(stateOf());
    await stage.write(stateOf({ serial: 2 }));
    data(await stage.owner.post(`/state-versions/${version.id}/actions/soft_delete_backing_data`));
    const sentence = /^This state version can't be uploaded to: its status is backing_data_soft_deleted\./;
    expectRefused(await put(uploadUrlOf(version), stateOf()), 409, sentence);
    expectRefused(await put(jsonUploadUrlOf(version), "{}"), 409, sentence);
  });

  it("404: the workspace was deleted", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
    expectRefused(await put(uploadUrlOf(version), stateOf()), 404, noUpload);
    expectRefused(await put(jsonUploadUrlOf(version), "{}"), 404, noUpload);
  });
});

describe("who is shown a URL", () => {
  it("only the creator of the version, with any token", async () => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.workspace.id, team.id, "write");
    const [maker, colleague] = [
      await api.makeMember(stage.org.name, [team.id]),
      await api.makeMember(stage.org.name, [team.id]),
    ];
    await stage.lock(maker);
    const version = await stage.announce(stateOf(), {}, maker);
    const again = data(await maker.post(`/users/${maker.id}/authentication-tokens`)).attributes.token;
    expect(uploadUrlOf(await stage.show(version.id, api.as(again)))).toBe(uploadUrlOf(version));
    for (const caller of [colleague, stage.owner, api.admin]) {
      const seen = [await stage.show(version.id, caller), data(await caller.get(`${stage.path}/state-versions`))[0]];
      for (const { id, attributes } of seen) {
        expect(id).toBe(version.id);
        expect(attributes["hosted-state-upload-url"]).toBeNull();
        expect(attributes["hosted-json-state-upload-url"]).toBeNull();
      }
    }
  });

  it("a URL of one organization reveals nothing about another's", async () => {
    const other = await api.makeOrganization();
    const workspace = await api.makeWorkspace(other.name);
    await lock(other.owner, workspace.id);
    const theirs = data(await post(other.owner, workspace.id, pendingStateAttributes(stateOf())));
    await stage.lock();
    const ours = await stage.announce(stateOf());
    expectRefused(await put(uploadUrlOf(ours).replace(ours.id, theirs.id), stateOf()), 404, noUpload);
    expectSent(await put(uploadUrlOf(theirs), stateOf()));
    expect(await stage.status(ours.id)).toBe("pending");
  });
});
