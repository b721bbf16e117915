/** Finds the settings of an organization that its HCL lacks: it changes each, and compares the text. */
import { z } from "zod";
import { writeResources } from "../../src/moving/exporting/resources.ts";
import type { CollectedOrganization } from "../../src/moving/exporting/collect.ts";
import type { WireResource } from "../../src/moving/wire.ts";
import { resources } from "../../src/resources/index.ts";

/** Every type that an export reads, as a collected organization that contains one resource of it. */
const collectedWith = {
  organizations: (organization: WireResource) => ({ organization }),
  teams: (team: WireResource) => ({ teams: [team] }),
  "organization-memberships": (membership: WireResource) => ({
    memberships: [membership],
    teams: [{ ...bare, id: "teams-one" }],
  }),
  "ssh-keys": (key: WireResource) => ({ sshKeys: [key] }),
  "agent-pools": (pool: WireResource) => ({ agentPools: [pool] }),
  "reserved-tag-keys": (key: WireResource) => ({ reservedTagKeys: [key] }),
  projects: (project: WireResource) => ({ projects: [{ project, access: [], bindings: [] }] }),
  "team-projects": (record: WireResource) => ({ projects: [{ project: bare, access: [record], bindings: [] }] }),
  varsets: (varset: WireResource) => ({ varsets: [{ varset, variables: [] }] }),
  vars: (variable: WireResource) => ({ varsets: [{ varset: bare, variables: [variable] }] }),
  workspaces: (workspace: WireResource) => ({ workspaces: [{ ...emptyWorkspace, workspace }] }),
  "team-workspaces": (record: WireResource) => ({ workspaces: [{ ...emptyWorkspace, access: [record] }] }),
  "tag-bindings": (binding: WireResource) => ({ workspaces: [{ ...emptyWorkspace, bindings: [binding] }] }),
  "run-triggers": (trigger: WireResource) => ({ workspaces: [{ ...emptyWorkspace, triggers: [trigger] }] }),
  "data-retention-policy-delete-olders": (retention: WireResource) => ({ retention }),
} satisfies Readonly<Record<string, (resource: WireResource) => Partial<CollectedOrganization>>>;

const bare: WireResource = { id: "bare", type: "", attributes: {}, relationships: {} };
const emptyWorkspace = {
  workspace: bare,
  variables: [],
  access: [],
  bindings: [],
  consumers: [],
  triggers: [],
  retention: undefined,
};
const empty: CollectedOrganization = {
  organization: bare,
  teams: [],
  memberships: [],
  sshKeys: [],
  agentPools: [],
  reservedTagKeys: [],
  accessRules: [],
  accessOffers: [],
  projects: [],
  varsets: [],
  workspaces: [],
  retention: undefined,
};

type Shape = z.core.JSONSchema.JSONSchema;
type Pair = readonly [first: unknown, second: unknown];

/** Two values that differ in every member. */
function valuesOf(shape: Shape): Pair {
  const choice = shape.anyOf?.find((each) => typeof each === "object" && each.type !== "null");
  if (typeof choice === "object") return valuesOf(choice);
  if (shape.enum !== undefined) return [shape.enum[0], shape.enum.at(-1)];
  if (shape.type === "boolean") return [true, false];
  if (shape.type === "integer" || shape.type === "number") return [1, 2];
  if (shape.type === "array") return [["one"], ["two"]];
  if (shape.type !== "object") return ["one", "two"];
  const members = Object.entries(shape.properties ?? {}).map(
    ([name, each]) => [name, valuesOf(each as Shape)] as const,
  );
  const pick = (index: 0 | 1) => Object.fromEntries(members.map(([name, values]) => [name, values[index]]));
  return [pick(0), pick(1)];
}

const linkage = (many: boolean, types: readonly string[]): Pair => {
  const link = (name: string) => ({ id: `${types.includes("projects") ? "prj" : types[0]}-${name}` });
  const [one, two] = [link("one"), link("two")];
  return many ? [{ data: [one] }, { data: [two] }] : [{ data: one }, { data: two }];
};

interface Setting {
  readonly name: string;
  readonly part: "attributes" | "relationships";
  readonly values: Pair;
}

function settingsOf(type: string): Setting[] {
  const definition = resources.find((each) => each.definition.type === type)?.definition;
  if (definition === undefined) throw new Error(`there is no resource ${type}`);
  const canBeSet = ({ create, update }: { create: string; update: string }) => create !== "never" || update !== "never";
  const attributes = Object.entries(definition.attributes).filter(([, each]) => canBeSet(each));
  const relationships = Object.entries(definition.relationships ?? {}).filter(([, each]) => canBeSet(each));
  return [
    ...attributes.map(([name, { schema }]): Setting => {
      const shape = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
      return { name, part: "attributes", values: valuesOf(shape) };
    }),
    ...relationships.map(([name, { many, types }]): Setting => {
      return { name, part: "relationships", values: linkage(many, types) };
    }),
  ];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A setting, or a member of one, with another value or none. */
function changesOf({ name, part, values }: Setting, index: 0 | 1): [name: string, changed: unknown][] {
  const [value, other] = [values[index], values[1 - index]];
  if (part === "relationships" || !isObject(value) || !isObject(other))
    return [
      [name, other],
      [name, undefined],
    ];
  return Object.keys(value).map((member) => [`${name}.${member}`, { ...value, [member]: other[member] }]);
}

export const exportedTypes = Object.keys(collectedWith) as (keyof typeof collectedWith)[];

/** The settings of a type that never change the files, for both values of the others and with each of them absent. */
export function missingInHcl(type: keyof typeof collectedWith): string[] {
  const settings = settingsOf(type);
  const filesWith = (index: 0 | 1, changes: Readonly<Record<string, unknown>>) => {
    const partOf = (part: Setting["part"]) =>
      Object.fromEntries(
        settings
          .filter((each) => each.part === part)
          .map(({ name, values }) => [name, name in changes ? changes[name] : values[index]]),
      );
    const resource = { id: "id", type, attributes: partOf("attributes"), relationships: partOf("relationships") };
    const hcl = writeResources({ ...empty, ...collectedWith[type](resource) }, "host");
    return JSON.stringify([[...hcl.files], hcl.writeOnly, hcl.unsupported]);
  };
  const contexts = ([0, 1] as const).flatMap((index) =>
    [{}, ...settings.map(({ name }) => ({ [name]: undefined }))].map((absent) => ({ index, absent })),
  );
  const shown = new Map<string, boolean>();
  for (const { index, absent } of contexts)
    for (const setting of settings)
      for (const [name, changed] of changesOf(setting, index))
        if (shown.get(name) !== true && !(setting.name in absent))
          shown.set(name, filesWith(index, { ...absent, [setting.name]: changed }) !== filesWith(index, absent));
  return [...shown].filter(([, isShown]) => !isShown).map(([name]) => `${type}.${name}`);
}
