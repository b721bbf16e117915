/** Shared by the tests of variable sets: an organization with projects and workspaces, a set, and requests. */
import { beforeAll, beforeEach, expect } from "vitest";
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource, unique } from "../../../support/builders.ts";

export type LinkKind = "workspaces" | "projects";
export const kinds: readonly LinkKind[] = ["workspaces", "projects"];

export const linkage = (kind: LinkKind, ids: readonly string[]) => ({ data: ids.map((id) => ({ type: kind, id })) });

export interface Stage {
  readonly org: Org;
  /** Two projects, the first with two workspaces, the second with one; the same for all tests of a file. */
  readonly projects: readonly string[];
  readonly workspaces: readonly string[];
  /** A new set for each test, which applies to nothing. */
  readonly set: Json;
  readonly at: string;
  readonly path: string;
  /** Two ids of a kind. */
  two(kind: LinkKind): [string, string];
  create(attributes?: object, relationships?: object, caller?: Caller): Promise<Answer>;
  update(attributes: object, relationships?: object, headers?: Record<string, string>): Promise<Answer>;
  add(kind: LinkKind, ids: readonly string[], caller?: Caller): Promise<Answer>;
  remove(kind: LinkKind, ids: readonly string[], caller?: Caller): Promise<Answer>;
  /** As the owner sees it. */
  show(id?: string): Promise<Answer>;
  etag(): Promise<string>;
  /** What it applies to, as the caller sees it. */
  linked(kind: LinkKind, caller?: Caller): Promise<string[]>;
  /** The events about the set, oldest first. */
  events(): Promise<Json[]>;
}

/** `const stage = useStage(api)`, then its members inside the tests. */
export function useStage(api: Api): Stage {
  let org: Org;
  let projects: string[];
  let workspaces: string[];
  let set: Json;
  beforeAll(async () => {
    org = await api.makeOrganization();
    projects = [(await api.makeProject(org.name)).id, (await api.makeProject(org.name)).id];
    workspaces = [];
    for (const project of [projects[0], projects[0], projects[1]])
      workspaces.push((await api.makeWorkspace(org.name, {}, inProject(project ?? ""))).id);
  });
  beforeEach(async () => {
    set = await api.makeVarset(org.name);
  });
  const path = () => `/organizations/${org.name}/varsets`;
  const show: Stage["show"] = (id = set.id) => org.owner.get(`/varsets/${id}`);
  return {
    get org() {
      return org;
    },
    get projects() {
      return projects;
    },
    get workspaces() {
      return workspaces;
    },
    get set() {
      return set;
    },
    get at() {
      return `/varsets/${set.id}`;
    },
    get path() {
      return path();
    },
    two: (kind) => (kind === "workspaces" ? workspaces : projects).slice(0, 2).toSorted() as [string, string],
    create: (attributes = {}, relationships, caller = org.owner) =>
      caller.post(path(), resource("varsets", { name: unique("set"), ...attributes }, relationships)),
    update: (attributes, relationships, headers = {}) =>
      org.owner.patch(`/varsets/${set.id}`, resource("varsets", attributes, relationships), headers),
    add: (kind, ids, caller = org.owner) => caller.post(`/varsets/${set.id}/relationships/${kind}`, linkage(kind, ids)),
    remove: (kind, ids, caller = org.owner) =>
      caller.delete(`/varsets/${set.id}/relationships/${kind}`, linkage(kind, ids)),
    show,
    etag: async () => (await show()).headers.get("etag") ?? "",
    linked: async (kind, caller = org.owner) =>
      data(await caller.get(`/varsets/${set.id}`)).relationships[kind].data.map(({ id }: Json) => id),
    events: async () => {
      const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
      return events.filter((event: Json) => event.attributes["subject-id"] === set.id).toReversed();
    },
  };
}

export function expectRefused(answer: Answer, pointer: string, detail: string): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(422);
  expect(pointers(answer)).toEqual([pointer]);
  expect(details(answer)).toEqual([detail]);
}

/** Creates a variable in a set or workspace, by its path; returns its id. */
export async function addVar(org: Org, path: string, attributes: object): Promise<string> {
  const body = resource("vars", { category: "terraform", ...attributes });
  return data(await org.owner.post(path, body)).id;
}

export const globalSentence = (kind: LinkKind): string =>
  `The variable set is global and can't be applied to individual ${kind}; set global to false first`;
