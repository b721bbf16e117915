/** The levels that can be granted, and for `custom` every permission that can be chosen, by the name of its attribute. */
import type { ThingKind } from "./words.ts";

export interface Level {
  readonly value: string;
  readonly about: string;
}

const read = "See runs, variables, states and outputs.";
const write = "Read, plus apply runs, edit variables, write states and lock.";
const admin = "Write, plus change settings, delete, and manage access.";
const custom = "Choose each permission below.";

export const levelsOn: Readonly<Record<ThingKind, readonly Level[]>> = {
  project: [
    { value: "read", about: read },
    { value: "write", about: write },
    { value: "maintain", about: "Write, plus create, change and delete workspaces." },
    { value: "admin", about: "Maintain, plus change the project, move workspaces and manage access." },
    { value: "custom", about: custom },
  ],
  workspace: [
    { value: "read", about: read },
    { value: "plan", about: "Read, plus start plan-only runs." },
    { value: "write", about: write },
    { value: "admin", about: admin },
    { value: "custom", about: custom },
  ],
};

/** A permission that is chosen by itself. Without options it is given or not. */
export interface Choice {
  /** `workspace-access.runs`: an attribute within an attribute. */
  readonly attribute: string;
  readonly label: string;
  readonly options?: readonly string[];
}

const runs = { label: "Runs", options: ["read", "plan", "apply"] };
const variables = { label: "Variables", options: ["none", "read", "write"] };
const states = { label: "States", options: ["none", "read-outputs", "read", "write"] };

export const choicesOn: Readonly<Record<ThingKind, readonly Choice[]>> = {
  project: [
    { attribute: "project-access.settings", label: "Project", options: ["read", "update", "delete"] },
    { attribute: "project-access.teams", label: "Project access", options: ["none", "read", "manage"] },
    { attribute: "project-access.variable-sets", label: "Variable sets", options: ["none", "read", "write"] },
    { attribute: "workspace-access.runs", ...runs },
    { attribute: "workspace-access.variables", ...variables },
    { attribute: "workspace-access.state-versions", ...states },
    { attribute: "workspace-access.locking", label: "Lock workspaces" },
    { attribute: "workspace-access.create", label: "Create workspaces" },
    { attribute: "workspace-access.move", label: "Move workspaces" },
    { attribute: "workspace-access.delete", label: "Delete workspaces" },
    { attribute: "workspace-access.run-tasks", label: "Manage run tasks" },
  ],
  workspace: [
    { attribute: "runs", ...runs },
    { attribute: "variables", ...variables },
    { attribute: "state-versions", ...states },
    { attribute: "workspace-locking", label: "Lock workspace" },
    { attribute: "run-tasks", label: "Manage run tasks" },
  ],
};

export type Chosen = Readonly<Record<string, string | boolean>>;

/** What a custom grant begins with: the lowest of each. */
export const lowest = (kind: ThingKind): Chosen =>
  Object.fromEntries(choicesOn[kind].map(({ attribute, options }) => [attribute, options?.[0] ?? false]));

/** `workspace-access.runs: "plan"` → `{ "workspace-access": { runs: "plan" } }`. */
export function attributesOf(chosen: Chosen): Record<string, unknown> {
  const attributes: Record<string, any> = {};
  for (const [attribute, value] of Object.entries(chosen)) {
    const [outer, inner] = attribute.split(".") as [string, string?];
    if (inner === undefined) attributes[outer] = value;
    else attributes[outer] = { ...attributes[outer], [inner]: value };
  }
  return attributes;
}

/** The other way round, from a record. */
export function chosenIn(kind: ThingKind, attributes: Readonly<Record<string, any>>): Chosen {
  return Object.fromEntries(
    choicesOn[kind].map(({ attribute }) => {
      const [outer, inner] = attribute.split(".") as [string, string?];
      return [attribute, inner === undefined ? attributes[outer] : attributes[outer]?.[inner]];
    }),
  );
}
