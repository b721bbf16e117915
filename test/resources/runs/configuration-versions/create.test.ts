/** Creating configuration versions: attributes, permissions and sources. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, resource } from "../../../support/builders.ts";
import { createConfiguration } from "../../../support/configurations.ts";
import { expectRefused, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);
const path = () => `/workspaces/${stage.workspace.id}/configuration-versions`;

describe("createConfigurationVersion: 201", () => {
  it("is pending, with the upload URL", async () => {
    const answer = await stage.owner.post(path(), resource("configuration-versions", {}));
    expect(answer.status).toBe(201);
    const version = data(answer);
    expect(version).toEqual({
      id: expect.stringMatching(/^cv-[1-9A-Za-z]{16}$/),
      type: "configuration-versions",
      attributes: {
        "auto-queue-runs": true,
        speculative: false,
        provisional: false,
        source: "tfe-api",
        status: "pending",
        "status-timestamps": { "queued-at": expect.stringMatching(/^\d{4}-.*Z$/) },
        error: null,
        "error-message": null,
        "upload-url": expect.stringContaining(`${api.url}/api/v2/configuration-versions/${version.id}/upload?expires=`),
      },
      relationships: {
        "ingress-attributes": {
          data: null,
          links: { related: `/api/v2/configuration-versions/${version.id}/ingress-attributes` },
        },
      },
      links: {
        self: `/api/v2/configuration-versions/${version.id}`,
        download: `/api/v2/configuration-versions/${version.id}/download`,
      },
    });
  });

  it("never shows the URL again, to any caller", async () => {
    const { id } = await stage.createVersion();
    expect((await stage.show(id)).attributes["upload-url"]).toBeNull();
    const [listed] = data(await stage.owner.get(path()));
    expect(listed.attributes["upload-url"]).toBeNull();
  });

  it("accepts attributes, and a request without a body", async () => {
    const sent = { "auto-queue-runs": false, speculative: true, provisional: true };
    expect((await stage.createVersion(sent)).attributes).toMatchObject(sent);
    expect(data(await stage.owner.post(path())).attributes).toMatchObject({
      "auto-queue-runs": true,
      speculative: false,
    });
  });

  it.each([
    [{}, "tfe-api"],
    [{ "Terraform-Version": "1.5.7" }, "terraform"],
    [{ "Terraform-Version": "1.5.7", "X-Terraform-Integration": "cloud" }, "terraform"],
    [{ "User-Agent": "go-tfe" }, "tfe-api"],
  ])("with the headers %j it comes from %s", async (headers, source) => {
    const answer = await stage.owner.post(path(), resource("configuration-versions", {}), headers);
    expect(data(answer).attributes.source).toBe(source);
  });

  it("writes an audit event without the URL", async () => {
    const { id } = await stage.createVersion({ speculative: true });
    const [event, ...others] = await stage.auditEvents(id);
    expect(others).toEqual([]);
    expect(event.action).toBe("configuration-versions.create");
    expect(event.after).toMatchObject({ status: "pending", speculative: true, workspace: stage.workspace.id });
    expect(JSON.stringify(event)).not.toContain("signature");
  });

  it("by a caller who can plan", async () => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.workspace.id, team.id, "plan");
    expect(
      (await createConfiguration(await api.makeMember(stage.org.name, [team.id]), stage.workspace.id)).status,
    ).toBe(201);
    expect((await createConfiguration(await api.makeTeamToken(team.id), stage.workspace.id)).status).toBe(201);
  });
});

describe("createConfigurationVersion: refused", () => {
  it("403: a caller who can only read", async () => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.workspace.id, team.id, "read");
    const answer = await createConfiguration(await api.makeMember(stage.org.name, [team.id]), stage.workspace.id);
    expectRefused(answer, 403, /'plan' on the workspace's runs \(can-queue-run\)/);
  });

  it("403: an organization's token", async () => {
    const answer = await createConfiguration(await api.makeOrganizationToken(stage.org.name), stage.workspace.id);
    expectRefused(answer, 403, /can-queue-run/);
  });

  it("404: no such workspace", async () => {
    expectRefused(await createConfiguration(stage.owner, "ws-none"), 404, /There is no such workspace/);
  });

  it("422: values that are not booleans", async () => {
    const answer = await createConfiguration(stage.owner, stage.workspace.id, { speculative: "yes" });
    expectRefused(answer, 422, /^Speculative must be true or false/);
  });
});

describe("the workspace's current configuration", () => {
  it("is the first one while there is no other, then the latest uploaded one that is not speculative or provisional", async () => {
    expect(await stage.currentId()).toBeNull();
    const speculative = await stage.uploadVersion({ speculative: true });
    const provisional = await stage.uploadVersion({ provisional: true });
    expect(await stage.currentId()).toBeNull();
    const awaited = await stage.createVersion();
    expect(await stage.currentId()).toBe(awaited.id);
    const second = await stage.createVersion();
    expect(await stage.currentId()).toBe(awaited.id);
    const third = await stage.uploadVersion();
    expect(await stage.currentId()).toBe(third.id);
    for (const { id } of [speculative, provisional, second]) expect(id).not.toBe(await stage.currentId());
  });

  it("raises the workspace's version, and is included with it", async () => {
    const before = (await stage.owner.get(`/workspaces/${stage.workspace.id}`)).headers.get("etag");
    const { id } = await stage.uploadVersion();
    const after = await stage.owner.get(`/workspaces/${stage.workspace.id}`);
    expect(after.headers.get("etag")).not.toBe(before);
    const { included } = await stage.showWorkspace("?include=current_configuration_version");
    expect(included).toEqual([await stage.show(id)]);
    const { body } = await stage.owner.get(
      `/organizations/${stage.org.name}/workspaces?include=current_configuration_version,readme&search[name]=${stage.workspace.attributes.name}`,
    );
    expect(body.included.map((each: { id: string }) => each.id)).toEqual([id]);
  });
});
