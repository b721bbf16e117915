/** Differences between the hosted and the self-hosted edition: assessments. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { at, faults, pathById } from "./support.ts";

const hosted = useApi({ options: { edition: "hosted", globalRemoteStateDefault: true } });
const selfHosted = useApi();
let org: Org;
beforeAll(async () => {
  org = await hosted.makeOrganization();
});

const create = (attributes: object) =>
  org.owner.post(
    `/organizations/${org.name}/workspaces`,
    resource("workspaces", { name: unique("ws"), ...attributes }),
  );
const update = (workspace: Json, attributes: object) =>
  org.owner.patch(pathById(workspace), resource("workspaces", attributes));
const assessed = ({ attributes }: Json) => attributes["assessments-enabled"];
const tooOld = at("assessments-enabled", "Assessments enabled needs engine version 0.15.4 or newer");
const notRemote = at("assessments-enabled", "Assessments enabled needs the execution mode 'remote'");

describe("hosted: assessments-enabled", () => {
  it("is false by default; can be switched, and an absent key keeps it", async () => {
    const workspace = data(await create({}));
    expect(assessed(workspace)).toBe(false);
    expect(assessed(data(await update(workspace, { "assessments-enabled": true })))).toBe(true);
    expect(assessed(data(await update(workspace, { description: "x" })))).toBe(true);
    expect(assessed(data(await org.owner.get(pathById(workspace))))).toBe(true);
    expect(assessed(data(await update(workspace, { "assessments-enabled": false })))).toBe(false);
  });

  it("can be sent on creation, and the list shows it", async () => {
    const workspace = data(await create({ "assessments-enabled": true }));
    expect(assessed(workspace)).toBe(true);
    const listed = data(await org.owner.get(`/organizations/${org.name}/workspaces?page[size]=100`));
    expect(listed.find((item: Json) => item.id === workspace.id)).toEqual(workspace);
  });

  it.each(["0.15.4", "1.0.0", "~> 1.0.0", ">= 0.14"])("the engine version %s is new enough", async (version) => {
    expect(assessed(data(await create({ "assessments-enabled": true, "engine-version": version })))).toBe(true);
  });

  it.each(["0.15.3", "0.12.0", "0.15.4-beta1"])("the engine version %s is too old", async (version) => {
    expect(faults(await create({ "assessments-enabled": true, "engine-version": version }))).toEqual([tooOld]);
    const workspace = data(await create({ "engine-version": version }));
    expect(faults(await update(workspace, { "assessments-enabled": true }))).toEqual([tooOld]);
  });

  it("needs remote execution, both faults together", async () => {
    expect(faults(await create({ "assessments-enabled": true, "execution-mode": "local" }))).toEqual([notRemote]);
    expect(faults(await create({ "assessments-enabled": true, operations: false }))).toEqual([notRemote]);
    const both = { "assessments-enabled": true, operations: false, "engine-version": "0.14.0" };
    expect(faults(await create(both))).toEqual([tooOld, notRemote]);
  });

  it("when it is switched off, neither matters", async () => {
    const off = { "assessments-enabled": false, "execution-mode": "local", "engine-version": "0.12.0" };
    expect((await create(off)).status).toBe(201);
  });

  it("when it is on, it prevents no change; only a request that switches it on is checked", async () => {
    const workspace = data(await create({ "assessments-enabled": true }));
    expect(assessed(data(await update(workspace, { "engine-version": "0.14.0" })))).toBe(true);
    expect(assessed(data(await update(workspace, { "execution-mode": "local" })))).toBe(true);
    expect((await update(workspace, { description: "x" })).status).toBe(200);
    expect(faults(await update(workspace, { "assessments-enabled": true }))).toEqual([tooOld, notRemote]);
    expect(assessed(data(await update(workspace, { "assessments-enabled": false })))).toBe(false);
    expect(faults(await update(workspace, { "assessments-enabled": true }))).toEqual([tooOld, notRemote]);
  });

  it("needs remote execution by the project's default too", async () => {
    const project = await hosted.makeProject(org.name, { "default-execution-mode": "local" });
    const body = (attributes: object) =>
      resource("workspaces", { name: unique("ws"), "assessments-enabled": true, ...attributes }, inProject(project.id));
    const path = `/organizations/${org.name}/workspaces`;
    expect(faults(await org.owner.post(path, body({})))).toEqual([notRemote]);
    expect((await org.owner.post(path, body({ "execution-mode": "remote" }))).status).toBe(201);
    const elsewhere = data(await create({}));
    const moving = resource("workspaces", { "assessments-enabled": true }, inProject(project.id));
    expect(faults(await org.owner.patch(pathById(elsewhere), moving))).toEqual([notRemote]);
  });

  it("needs remote execution by the organization's default too", async () => {
    const local = await hosted.makeOrganization({ "default-execution-mode": "local" });
    const path = `/organizations/${local.name}/workspaces`;
    const body = resource("workspaces", { name: unique("ws"), "assessments-enabled": true });
    expect(faults(await local.owner.post(path, body))).toEqual([notRemote]);
  });

  it.each([null, 1, "true"])("%j is refused", async (value) => {
    const detail = "Assessments enabled must be true or false";
    expect(faults(await create({ "assessments-enabled": value }))).toEqual([at("assessments-enabled", detail)]);
  });

  it("is shown as true where the organization enforces it, and as it was after that", async () => {
    const own = await hosted.makeOrganization();
    const workspace = await hosted.makeWorkspace(own.name);
    const enforce = async (value: boolean) =>
      data(
        await own.owner.patch(
          `/organizations/${own.name}`,
          resource("organizations", { "assessments-enforced": value }),
        ),
      );
    await enforce(true);
    expect(assessed(data(await own.owner.get(pathById(workspace))))).toBe(true);
    expect(assessed(data(await own.owner.get(`/organizations/${own.name}/workspaces`))[0])).toBe(true);
    await enforce(false);
    expect(assessed(data(await own.owner.get(pathById(workspace))))).toBe(false);
  });
});

describe("hosted: what belongs to the other edition", () => {
  it("has no data-retention-policy", async () => {
    expect(data(await create({})).relationships).not.toHaveProperty("data-retention-policy");
  });

  it("takes no default for global-remote-state", async () => {
    expect(data(await create({})).attributes["global-remote-state"]).toBe(false);
  });
});

describe("self-hosted: assessments-enabled", () => {
  it("is ignored and not returned, for any valid value", async () => {
    const own = await selfHosted.makeOrganization({ "assessments-enforced": true });
    const workspace = await selfHosted.makeWorkspace(own.name, {
      "assessments-enabled": true,
      "execution-mode": "local",
      "engine-version": "0.12.0",
    });
    expect(workspace.attributes).not.toHaveProperty("assessments-enabled");
    const change = resource("workspaces", { "assessments-enabled": true, description: "x" });
    const changed = data(await own.owner.patch(pathById(workspace), change));
    expect(changed.attributes).not.toHaveProperty("assessments-enabled");
    expect(changed.attributes.description).toBe("x");
    const listed = data(await own.owner.get(`/organizations/${own.name}/workspaces`));
    expect(listed[0].attributes).not.toHaveProperty("assessments-enabled");
    const row = await selfHosted.database.reader.db
      .selectFrom("workspaces")
      .select("assessmentsEnabled")
      .where("id", "=", workspace.id)
      .executeTakeFirst();
    expect(row?.assessmentsEnabled).toBe(0);
  });
});
