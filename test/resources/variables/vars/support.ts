/** Shared by the tests of variables: a workspace or variable set with one variable, requests, and the stored rows. */
import { beforeAll, beforeEach, expect } from "vitest";
import type { VarTable } from "../../../../src/database/schema/variables.ts";
import { createVault } from "../../../../src/database/vault.ts";
import { type Answer, type Api, type Caller, type Json } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const vault = createVault(Buffer.alloc(32, 7));

/** The types that have variables; most tests are the same for both. */
export const parentTypes = ["workspaces", "varsets"] as const;
export type VarParentType = (typeof parentTypes)[number];

/** The path of a parent's variables. */
export const varsIn = ({ type, id }: Json): string =>
  type === "workspaces" ? `/workspaces/${id}/vars` : `/varsets/${id}/relationships/vars`;

export interface Stage {
  readonly org: Org;
  /** A new one for each test, with a new variable. */
  readonly parent: Json;
  readonly variable: Json;
  /** The path of the parent. */
  readonly parentPath: string;
  /** The path of the parent's variables. */
  readonly path: string;
  /** The path of the variable. */
  readonly at: string;
  /** Creates another workspace or set without variables. */
  makeParent(): Promise<Json>;
  create(attributes?: object, caller?: Caller): Promise<Answer>;
  update(attributes: object, headers?: Record<string, string>): Promise<Answer>;
  /** As the owner sees it. */
  show(id?: string): Promise<Answer>;
  etag(): Promise<string>;
  row(id?: string): Promise<VarTable | undefined>;
  /** The stored value, decrypted. */
  stored(id?: string): Promise<string>;
  /** The events about the variable, oldest first. */
  events(): Promise<Json[]>;
}

/** `const stage = useStage(api)`, then its members inside the tests. */
export function useStage(api: Api, type: VarParentType = "workspaces"): Stage {
  let org: Org;
  let parent: Json;
  let variable: Json;
  beforeAll(async () => {
    org = await api.makeOrganization();
  });
  const makeParent = () => (type === "workspaces" ? api.makeWorkspace(org.name) : api.makeVarset(org.name));
  const path = () => varsIn(parent);
  const create: Stage["create"] = (attributes = {}, caller = org.owner) =>
    caller.post(path(), resource("vars", { key: newKey(), value: "a value", category: "terraform", ...attributes }));
  beforeEach(async () => {
    parent = await makeParent();
    variable = data(await create());
  });
  const show: Stage["show"] = (id = variable.id) => org.owner.get(`${path()}/${id}`);
  const row: Stage["row"] = (id = variable.id) =>
    api.database.reader.db.selectFrom("vars").selectAll().where("id", "=", id).executeTakeFirst();
  return {
    get org() {
      return org;
    },
    get parent() {
      return parent;
    },
    get parentPath() {
      return `/${type}/${parent.id}`;
    },
    makeParent,
    get variable() {
      return variable;
    },
    get path() {
      return path();
    },
    get at() {
      return `${path()}/${variable.id}`;
    },
    create,
    update: (attributes, headers = {}) =>
      org.owner.patch(`${path()}/${variable.id}`, resource("vars", attributes), headers),
    show,
    etag: async () => (await show()).headers.get("etag") ?? "",
    row,
    stored: async (id) => {
      const found = await row(id);
      return Buffer.from(vault.open(`vars/${found?.id}/value`, found?.value ?? Buffer.alloc(0))).toString();
    },
    events: async () => {
      const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
      return events.filter((event: Json) => event.attributes["subject-id"] === variable.id).toReversed();
    },
  };
}

/** A key that is valid in both categories. */
export const newKey = (): string => unique("key").replace("-", "_");

export function expectRefused(answer: Answer, attribute: string, detail: string): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(422);
  expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
  expect(details(answer)).toEqual([detail]);
}

/** Inserts rows directly, without requests. */
export async function insertRows(
  api: Api,
  org: Org,
  parent: Json,
  count: number,
  content: Buffer = Buffer.from("filler"),
): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => {
    const id = `${unique("var")}${index}`;
    return {
      id,
      organizationId: org.id,
      workspaceId: parent.type === "workspaces" ? parent.id : null,
      varsetId: parent.type === "varsets" ? parent.id : null,
      key: `filler_${index}`,
      value: vault.seal(`vars/${id}/value`, content),
      description: "",
      category: "terraform",
      hcl: 0,
      sensitive: 0,
      createdAt: new Date().toISOString(),
      version: 1,
    };
  });
  await api.database.write((tx) => tx.db.insertInto("vars").values(rows).execute());
}

export const envSentence =
  "Key of an environment variable must start with a letter or an underscore, and may only contain letters, digits and underscores";
export const terraformSentence = "Key can't contain whitespace";
export const takenSentence = "Key has already been taken";
export const sensitiveSentence =
  "Sensitive can't be turned off, because that would reveal the value; delete the variable and create it again";
export const tooLargeSentence = (type: VarParentType): string =>
  `Value is too large: all values of a ${type === "workspaces" ? "workspace" : "variable set"} together can have at most 8388608 bytes`;
