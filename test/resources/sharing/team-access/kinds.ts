/** The differences between team access records on projects and on workspaces, for the tests of both. */
import { beforeAll } from "vitest";
import type { Api, Caller, Json } from "../../../support/api.ts";
import { onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";

type Values = Readonly<Record<string, readonly unknown[]>>;

export interface Kind {
  readonly noun: string;
  readonly type: "team-projects" | "team-workspaces";
  readonly prefix: string;
  readonly subject: "project" | "workspace";
  /** A record's relationships. */
  readonly on: (targetId: string, teamId: string) => object;
  /** From below, and `custom` last. */
  readonly levels: readonly string[];
  /** The other kind's level. */
  readonly noLevel: string;
  /** The decisions' table of implied values: a row for each permission, a column for each level. */
  readonly implied: Values;
  /** Every value of every permission that can be chosen, from below. */
  readonly choices: Values;
  readonly runs: string;
  /** Attributes that choose no permission. */
  readonly nothing: readonly object[];
  /** Attributes with values that can't be chosen. */
  readonly refused: readonly object[];
}

export const kinds: readonly Kind[] = [
  {
    noun: "TeamProject",
    type: "team-projects",
    prefix: "tprj",
    subject: "project",
    on: onProject,
    levels: ["read", "write", "maintain", "admin", "custom"],
    noLevel: "plan",
    implied: {
      "project-access.settings": ["read", "read", "read", "delete", "read"],
      "project-access.teams": ["none", "none", "none", "manage", "none"],
      "project-access.variable-sets": ["read", "write", "write", "write", "none"],
      "workspace-access.runs": ["read", "apply", "apply", "apply", "read"],
      "workspace-access.policy-mocks": ["none", "read", "read", "read", "none"],
      "workspace-access.sentinel-mocks": ["none", "read", "read", "read", "none"],
      "workspace-access.state-versions": ["read", "write", "write", "write", "none"],
      "workspace-access.variables": ["read", "write", "write", "write", "none"],
      "workspace-access.create": [false, false, true, true, false],
      "workspace-access.locking": [false, true, true, true, false],
      "workspace-access.delete": [false, false, true, true, false],
      "workspace-access.move": [false, false, false, true, false],
      "workspace-access.run-tasks": [false, false, true, true, false],
      "workspace-access.policy-overrides": [false, false, true, true, false],
    },
    choices: {
      "project-access.settings": ["read", "update", "delete"],
      "project-access.teams": ["none", "read", "manage"],
      "project-access.variable-sets": ["none", "read", "write"],
      "workspace-access.runs": ["read", "plan", "apply"],
      "workspace-access.policy-mocks": ["none", "read"],
      "workspace-access.state-versions": ["none", "read-outputs", "read", "write"],
      "workspace-access.variables": ["none", "read", "write"],
      "workspace-access.create": [false, true],
      "workspace-access.locking": [false, true],
      "workspace-access.delete": [false, true],
      "workspace-access.move": [false, true],
      "workspace-access.run-tasks": [false, true],
      "workspace-access.policy-overrides": [false, true],
    },
    runs: "workspace-access.runs",
    nothing: [{}, { access: "custom" }, { "workspace-access": {} }],
    refused: [
      { "project-access": { settings: "none" } },
      { "workspace-access": { runs: "none" } },
      { "workspace-access": "apply" },
    ],
  },
  {
    noun: "TeamWorkspace",
    type: "team-workspaces",
    prefix: "tws",
    subject: "workspace",
    on: onWorkspace,
    levels: ["read", "plan", "write", "admin", "custom"],
    noLevel: "maintain",
    implied: {
      runs: ["read", "plan", "apply", "apply", "read"],
      variables: ["read", "read", "write", "write", "none"],
      "state-versions": ["read", "read", "write", "write", "none"],
      "policy-mocks": ["none", "none", "read", "read", "none"],
      "sentinel-mocks": ["none", "none", "read", "read", "none"],
      "workspace-locking": [false, false, true, true, false],
      "run-tasks": [false, false, false, true, false],
      "policy-overrides": [false, false, false, true, false],
    },
    choices: {
      runs: ["read", "plan", "apply"],
      variables: ["none", "read", "write"],
      "state-versions": ["none", "read-outputs", "read", "write"],
      "policy-mocks": ["none", "read"],
      "workspace-locking": [false, true],
      "run-tasks": [false, true],
      "policy-overrides": [false, true],
    },
    runs: "runs",
    nothing: [{}, { access: "custom" }],
    refused: [{ runs: "none" }],
  },
];

/** `{ "project-access.teams": "read" }` as it is sent and shown. */
export function attributesOf(values: Readonly<Record<string, unknown>>): Json {
  const made: Json = {};
  for (const [path, value] of Object.entries(values)) {
    const [name = "", inner] = path.split(".");
    if (inner === undefined) made[name] = value;
    else (made[name] ??= {})[inner] = value;
  }
  return made;
}

/** What is shown of values that were chosen: mocks have two names. */
export const shown = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([path, value]) => [
      [path, value],
      ...(path.endsWith("policy-mocks") ? [[path.replace("policy", "sentinel"), value]] : []),
    ]),
  );

export const column = (rows: Values, index: number) =>
  Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values.at(index)]));

export const pointerTo = (path: string) => `/data/attributes/${path.replace(".", "/")}`;

/** An organization with one target of the kind. */
export function useTwin(api: Api, { type, subject, on }: Kind) {
  let org: Org;
  let target: Json;
  beforeAll(async () => {
    org = await api.makeOrganization();
    target = await twin.makeTarget();
  });
  const twin = {
    get org(): Org {
      return org;
    },
    get target(): Json {
      return target;
    },
    makeTarget: (): Promise<Json> => (subject === "project" ? api.makeProject(org.name) : api.makeWorkspace(org.name)),
    /** Creates a record. */
    record: async (attributes: object, targetId: string = target.id, teamId?: string): Promise<Json> =>
      (subject === "project" ? api.makeTeamProject : api.makeTeamWorkspace)(
        targetId,
        teamId ?? (await api.makeTeam(org.name)).id,
        attributes,
      ),
    create: (attributes: object, teamId: string, targetId: string = target.id, caller: Caller = org.owner) =>
      caller.post(`/${type}`, resource(type, attributes, on(targetId, teamId))),
    patch: (id: string, attributes: object, caller: Caller = org.owner, headers?: Record<string, string>) =>
      caller.patch(`/${type}/${id}`, resource(type, attributes), headers),
    show: (id: string, caller: Caller = org.owner) => caller.get(`/${type}/${id}`),
    /** A member of a new team with this access to the target. */
    holding: async (attributes: object, targetId: string = target.id) => {
      const team = await api.makeTeam(org.name);
      await twin.record(attributes, targetId, team.id);
      return api.makeMember(org.name, [team.id]);
    },
    events: async (action: string): Promise<Json[]> => {
      const all: Json[] = (await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=5`)).body.data;
      return all.filter(({ attributes }) => attributes.action === `${type}.${action}`);
    },
  };
  return twin;
}
