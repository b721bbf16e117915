/** Shared by the tests of configurations: a new workspace for each test, and reads of the tables. */
import { beforeAll, beforeEach, expect } from "vitest";
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, details, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { createConfiguration, uploadConfiguration } from "../../../support/configurations.ts";
import type { Entry } from "../../../support/archives.ts";

export interface Stage {
  readonly org: Org;
  readonly owner: Caller;
  /** A new one for each test. */
  readonly workspace: Json;
  createVersion(attributes?: object, caller?: Caller): Promise<Json>;
  uploadVersion(attributes?: object, entries?: readonly (Entry | Buffer)[]): Promise<Json>;
  show(id: string): Promise<Json>;
  currentId(): Promise<string | null>;
  readmeId(): Promise<string | null>;
  showWorkspace(query?: string): Promise<Json>;
  postAction(id: string, action: string, caller?: Caller): Promise<Answer>;
  auditEvents(id: string): Promise<Json[]>;
}

export function useStage(api: Api): Stage {
  let org: Org;
  let workspace: Json;
  beforeAll(async () => {
    org = await makeOrganization(api);
  });
  beforeEach(async () => {
    workspace = await makeWorkspace(api, org.name);
  });
  const related = async (name: string) =>
    data(await org.owner.get(`/workspaces/${workspace.id}`)).relationships[name].data?.id ?? null;
  return {
    get org() {
      return org;
    },
    get owner() {
      return org.owner;
    },
    get workspace() {
      return workspace;
    },
    createVersion: async (attributes = {}, caller = org.owner) =>
      data(await createConfiguration(caller, workspace.id, attributes)),
    uploadVersion: (attributes, entries) => uploadConfiguration(org.owner, workspace.id, attributes, entries),
    show: async (id) => data(await org.owner.get(`/configuration-versions/${id}`)),
    currentId: () => related("current-configuration-version"),
    readmeId: () => related("readme"),
    showWorkspace: async (query = "") => (await org.owner.get(`/workspaces/${workspace.id}${query}`)).body,
    postAction: (id, action, caller = org.owner) => caller.post(`/configuration-versions/${id}/actions/${action}`),
    auditEvents: async (id) => {
      const path = `/organizations/${org.name}/audit-events?filter[subject][id]=${id}&page[size]=100`;
      return data(await org.owner.get(path))
        .map(({ attributes }: Json) => attributes)
        .toReversed();
    },
  };
}

export const contentsOf = (api: Api, id: string) =>
  api.database.reader.db.selectFrom("contents").selectAll().where("configurationVersionId", "=", id).execute();

export const completeKinds = async (api: Api, id: string): Promise<string[]> =>
  (await contentsOf(api, id))
    .filter(({ complete }) => complete === 1)
    .map(({ kind }) => kind)
    .toSorted();

/** Expects a status and a single error message. */
export function expectRefused(answer: { status: number; body: Json }, status: number, sentence: string | RegExp): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(details(answer as Answer)).toHaveLength(1);
  expect(details(answer as Answer)[0]).toMatch(sentence);
}
