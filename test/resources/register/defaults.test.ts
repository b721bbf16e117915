/**
 * The documents of a workspace and a project created with only a name, written by hand from the specification: a change
 * of a default in a definition fails these tests.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { ResourceDefinition } from "../../../src/jsonapi/define.ts";
import { projects } from "../../../src/resources/register/projects/definition.ts";
import { workspaces } from "../../../src/resources/register/workspaces/definition.ts";
import { type Json, useApi } from "../../support/api.ts";
import { data, makeOrganization, type Org, resource } from "../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
});

const bare = async (type: string): Promise<Json> =>
  data(await org.owner.post(`/organizations/${org.name}/${type}`, resource(type, { name: "nothing-but-a-name" })));

/** Every attribute that a request can set. */
const ofWorkspace = {
  description: null,
  "allow-destroy-plan": true,
  "auto-apply": false,
  "auto-apply-run-trigger": false,
  "auto-destroy-at": null,
  "auto-destroy-activity-duration": null,
  "inherits-project-auto-destroy": true,
  engine: null,
  "execution-mode": "remote",
  operations: true,
  "file-triggers-enabled": true,
  "trigger-prefixes": [],
  "trigger-patterns": [],
  "global-remote-state": false,
  "project-remote-state": false,
  "queue-all-runs": false,
  "speculative-enabled": true,
  "source-name": null,
  "source-url": null,
  "structured-run-output-enabled": true,
  "working-directory": null,
  "vcs-repo": null,
  "setting-overwrites": { "execution-mode": false, "agent-pool": false },
};

const ofProject = {
  description: null,
  "auto-destroy-activity-duration": null,
  "default-execution-mode": "remote",
  "setting-overwrites": { "default-execution-mode": false, "default-agent-pool": false },
};

/** Attributes shown elsewhere, in only one edition, or set by the service: the specification lists no default. */
const others: Record<string, readonly string[]> = {
  workspaces: ["name", "agent-pool-id", "assessments-enabled", "engine-version", "hyok-enabled"],
  projects: ["name", "default-agent-pool-id"],
};

describe.each<[string, ResourceDefinition, Record<string, unknown>]>([
  ["workspaces", workspaces, ofWorkspace],
  ["projects", projects, ofProject],
])("%s", (type, definition, defaults) => {
  const sendable = Object.entries(definition.attributes).filter(([, { create }]) => create !== "never");

  it("are created with these defaults", async () => {
    const { attributes } = await bare(type);
    const shown = Object.fromEntries(sendable.map(([name]) => [name, attributes[name]]));
    for (const name of others[type] ?? []) delete shown[name];
    expect(shown).toEqual(defaults);
  });

  it("are documented with them, and with no other", () => {
    const documented = sendable.filter(([name, attribute]) => attribute.default !== undefined && name in defaults);
    expect(Object.fromEntries(documented.map(([name, attribute]) => [name, attribute.default]))).toEqual(
      Object.fromEntries(documented.map(([name]) => [name, defaults[name]])),
    );
    const silent = sendable.filter(([, attribute]) => attribute.default === undefined).map(([name]) => name);
    const resolved = ["execution-mode", "operations", "default-execution-mode", "setting-overwrites"];
    expect(silent.filter((name) => !resolved.includes(name) && !others[type]?.includes(name))).toEqual([]);
  });
});
