/** The 21 permissions in a workspace's document, for every level, as the decisions' table of needs says. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  inProject,
  makeOrganization,
  makeOrganizationToken,
  makeProject,
  makeTeamToken,
  makeWorkspace,
  type Org,
} from "../../../support/builders.ts";
import { custom, holder, onProject, onWorkspace } from "./callers.ts";
import { pathById } from "./support.ts";

const api = useApi();
let org: Org;
let generous: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
  generous = await makeOrganization(api, { "allow-force-delete-workspaces": true });
});

const reading = ["can-read-settings", "can-read-run", "can-read-assessment-results"];
const queueing = ["can-queue-run"];
const applying = [...queueing, "can-queue-apply", "can-queue-destroy"];
const readingVariables = ["can-read-variable"];
const writingVariables = [...readingVariables, "can-update-variable"];
const readingOutputs = ["can-read-state-outputs"];
const readingState = [...readingOutputs, "can-read-state-versions"];
const writingState = [...readingState, "can-create-state-versions"];
const locking = ["can-lock", "can-unlock"];
const administering = [
  "can-update",
  "can-force-unlock",
  "can-manage-tags",
  "can-manage-assessments",
  "can-manage-ephemeral-workspaces",
  "can-destroy",
];
const runTasks = ["can-manage-run-tasks"];
const forcing = ["can-force-delete"];

const levelRead = [...reading, ...readingVariables, ...readingState];
const levelPlan = [...levelRead, ...queueing];
const levelWrite = [...reading, ...applying, ...writingVariables, ...writingState, ...locking];
const levelAdmin = [...levelWrite, ...administering, ...runTasks];
const everything = [...levelAdmin, ...forcing];
const all = new Set(everything);

const permissionsOf = async (organization: Org, make: ReturnType<typeof holder>): Promise<Json> => {
  const project = await makeProject(api, organization.name);
  const workspace = await makeWorkspace(api, organization.name, {}, inProject(project.id));
  const caller = await make(api, organization, workspace);
  const shown = data(await caller.get(pathById(workspace)));
  const query = `/organizations/${organization.name}/workspaces?filter[project][id]=${project.id}`;
  expect(data(await caller.get(query))).toEqual([shown]);
  return shown.attributes.permissions;
};
const only = (names: readonly string[]) => Object.fromEntries([...all].map((name) => [name, names.includes(name)]));

describe("the permissions in a document", () => {
  it("are 21", () => {
    expect(all.size).toBe(21);
  });

  it.each<[string, ReturnType<typeof holder>, string[]]>([
    ["an owner", async (_, { owner }) => owner, everything],
    ["a site admin", async () => api.admin, everything],
    ["the owners team's token", (_, { ownersTeamId }) => makeTeamToken(api, ownersTeamId), everything],
    ["a holder of manage-projects", holder("manage-projects"), levelAdmin],
    ["a holder of manage-workspaces", holder("manage-workspaces"), levelAdmin],
    ["a holder of read-projects", holder("read-projects"), levelRead],
    ["a holder of read-workspaces", holder("read-workspaces"), levelRead],
    ["project read", onProject("read"), levelRead],
    ["project write", onProject("write"), levelWrite],
    ["project maintain", onProject("maintain"), levelAdmin],
    ["project admin", onProject("admin"), levelAdmin],
    ["workspace read", onWorkspace("read"), levelRead],
    ["workspace plan", onWorkspace("plan"), levelPlan],
    ["workspace write", onWorkspace("write"), levelWrite],
    ["workspace admin", onWorkspace("admin"), levelAdmin],
    ["workspace read and write by two teams", onWorkspace("read", "write"), levelWrite],
    ["custom: runs read", custom("workspace", { runs: "read" }), reading],
    ["custom: runs plan", custom("workspace", { runs: "plan" }), [...reading, ...queueing]],
    ["custom: runs apply", custom("workspace", { runs: "apply" }), [...reading, ...applying]],
    [
      "custom: variables read",
      custom("workspace", { runs: "read", variables: "read" }),
      [...reading, ...readingVariables],
    ],
    [
      "custom: variables write",
      custom("workspace", { runs: "read", variables: "write" }),
      [...reading, ...writingVariables],
    ],
    [
      "custom: state-versions read-outputs",
      custom("workspace", { runs: "read", stateVersions: "read-outputs" }),
      [...reading, ...readingOutputs],
    ],
    [
      "custom: state-versions read",
      custom("workspace", { runs: "read", stateVersions: "read" }),
      [...reading, ...readingState],
    ],
    [
      "custom: state-versions write",
      custom("workspace", { runs: "read", stateVersions: "write" }),
      [...reading, ...writingState],
    ],
    ["custom: locking", custom("workspace", { runs: "read", locking: true }), [...reading, ...locking]],
    ["custom: run-tasks", custom("workspace", { runs: "read", runTasks: true }), [...reading, ...runTasks]],
    ["custom: policy-mocks", custom("workspace", { runs: "read", policyMocks: "read" }), reading],
    [
      "custom on the project: delete",
      custom("project", { settings: "read", runs: "read", delete: true }),
      [...reading, "can-destroy"],
    ],
    [
      "custom on the project: create and move",
      custom("project", { settings: "delete", teams: "manage", runs: "read", create: true, move: true }),
      reading,
    ],
  ])("%s", async (_, make, expected) => {
    expect(await permissionsOf(org, make)).toEqual(only(expected));
  });

  it("the organization's token: an owner who neither locks nor queues runs nor writes state", async () => {
    const token = await permissionsOf(org, (_, { name }) => makeOrganizationToken(api, name));
    const without = [...locking, ...applying, "can-create-state-versions"];
    expect(token).toEqual(only(everything.filter((name) => !without.includes(name))));
  });

  it.each<[string, ReturnType<typeof holder>, string[]]>([
    ["workspace admin", onWorkspace("admin"), everything],
    ["project maintain", onProject("maintain"), everything],
    ["project admin", onProject("admin"), everything],
    ["manage-workspaces", holder("manage-workspaces"), everything],
    ["workspace write", onWorkspace("write"), levelWrite],
    [
      "the project's delete alone",
      custom("project", { settings: "read", runs: "read", delete: true }),
      [...reading, "can-destroy"],
    ],
  ])("where the organization allows force deletion: %s", async (_, make, expected) => {
    expect(await permissionsOf(generous, make)).toEqual(only(expected));
  });
});
