/** Shared by the tests of states: a new workspace for each test, requests about its state, and the rows of its tables. */
import { beforeAll, beforeEach, expect } from "vitest";
import type { ContentChunkTable, ContentTable } from "../../../../src/database/schema/contents.ts";
import type { StateVersionTable } from "../../../../src/database/schema/state.ts";
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, details, makeOrganization, makeWorkspace, type Org, pointers } from "../../../support/builders.ts";
import { pendingStateAttributes, stateAttributes, lock, post, put, unlock } from "../../../support/states.ts";

export interface Stage {
  readonly org: Org;
  /** The organization's owner, who sends a test's requests unless it names another caller. */
  readonly owner: Caller;
  /** A new one for each test. */
  readonly workspace: Json;
  /** The path of the workspace. */
  readonly path: string;
  lock(caller?: Caller): Promise<Json>;
  unlock(caller?: Caller): Promise<Json>;
  /** Unlocks, and returns the response with any status. */
  tryUnlock(caller?: Caller): Promise<Answer>;
  forceUnlock(): Promise<Json>;
  /** Sends a state in a request; the lock must be held. */
  send(state: string, attributes?: object, caller?: Caller): Promise<Answer>;
  /** The version that `send` creates. */
  sent(state: string, attributes?: object, caller?: Caller): Promise<Json>;
  /** Creates a pending version; the lock must be held. */
  announce(state: string, attributes?: object, caller?: Caller): Promise<Json>;
  /** Locks, writes and unlocks. */
  write(state: string, attributes?: object): Promise<Json>;
  /** The same through the upload URL. */
  upload(state: string): Promise<Json>;
  show(id: string, caller?: Caller): Promise<Json>;
  current(): Promise<Answer>;
  /** The id of the current state version; null without one. */
  currentId(): Promise<string | null>;
  status(id: string): Promise<string>;
  shown(query?: string): Promise<Answer>;
  /** The audit events of a resource, oldest first. */
  events(id: string): Promise<Json[]>;
}

/** `const stage = useStage(api)`, then its members inside the tests. */
export function useStage(api: Api): Stage {
  let org: Org;
  let workspace: Json;
  beforeAll(async () => {
    org = await makeOrganization(api);
  });
  beforeEach(async () => {
    workspace = await makeWorkspace(api, org.name);
  });
  const show = async (id: string, caller: Caller = org.owner): Promise<Json> =>
    data(await caller.get(`/state-versions/${id}`));
  const stage: Stage = {
    get org() {
      return org;
    },
    get owner() {
      return org.owner;
    },
    get workspace() {
      return workspace;
    },
    get path() {
      return `/workspaces/${workspace.id}`;
    },
    lock: (caller = org.owner) => lock(caller, workspace.id),
    unlock: (caller = org.owner) => unlock(caller, workspace.id),
    tryUnlock: (caller = org.owner) => caller.post(`/workspaces/${workspace.id}/actions/unlock`),
    forceUnlock: async () => data(await org.owner.post(`/workspaces/${workspace.id}/actions/force-unlock`)),
    send: (state, attributes, caller = org.owner) => post(caller, workspace.id, stateAttributes(state, attributes)),
    sent: async (...sent) => data(await stage.send(...sent)),
    announce: async (state, attributes, caller = org.owner) =>
      data(await post(caller, workspace.id, pendingStateAttributes(state, attributes))),
    write: async (state, attributes) => {
      await stage.lock();
      const version = await stage.sent(state, attributes);
      await stage.unlock();
      return version;
    },
    upload: async (state) => {
      await stage.lock();
      const version = await stage.announce(state);
      expectSent(await put(uploadUrlOf(version), state));
      await stage.unlock();
      return version;
    },
    show,
    current: () => org.owner.get(`/workspaces/${workspace.id}/current-state-version`),
    currentId: async () => (await stage.shown()).body.data.relationships["current-state-version"].data?.id ?? null,
    status: async (id) => (await show(id)).attributes.status,
    shown: (query = "") => org.owner.get(`/workspaces/${workspace.id}${query}`),
    events: async (id) => {
      const path = `/organizations/${org.name}/audit-events?filter[subject][id]=${id}&page[size]=100`;
      return data(await org.owner.get(path))
        .map(({ attributes }: Json) => attributes)
        .toReversed();
    },
  };
  return stage;
}

export const uploadUrlOf = (version: Json): string => version.attributes["hosted-state-upload-url"];
export const jsonUploadUrlOf = (version: Json): string => version.attributes["hosted-json-state-upload-url"];

export function expectSent(answer: { readonly status: number; readonly body: Json }): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(204);
}

/** Expects the status and exactly one error message. */
export function expectRefused(answer: Answer, status: number, sentence: string | RegExp): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(details(answer)).toHaveLength(1);
  expect(details(answer)[0]).toMatch(sentence);
}

export function expectFault(answer: Answer, attribute: string, sentence: string | RegExp): void {
  expectRefused(answer, 422, sentence);
  expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
}

export async function versionRow(api: Api, id: string): Promise<StateVersionTable> {
  return api.database.reader.db.selectFrom("stateVersions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
}

export async function setVersion(api: Api, id: string, columns: Partial<StateVersionTable>): Promise<void> {
  await api.database.write((tx) => tx.db.updateTable("stateVersions").set(columns).where("id", "=", id).execute());
}

export async function contentsOf(api: Api, versionId: string): Promise<ContentTable[]> {
  return api.database.reader.db
    .selectFrom("contents")
    .selectAll()
    .where("stateVersionId", "=", versionId)
    .orderBy("id")
    .execute();
}

/** In their order. */
export async function chunksOf(api: Api, contentId: string): Promise<ContentChunkTable[]> {
  return api.database.reader.db
    .selectFrom("contentChunks")
    .selectAll()
    .where("contentId", "=", contentId)
    .orderBy("position")
    .execute();
}
