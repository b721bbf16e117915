/**
 * No cached response is stale: while writers change two organizations through two servers, each cached response is compared with
 * responses that bypass the cache. And what the cache spares: commits of other organizations leave a response fresh.
 */
import { type CompiledQuery, type KyselyPlugin, type PluginTransformQueryArgs } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { tablesAfter } from "../../src/backup/format.ts";
import { migrations } from "../../src/database/migrate.ts";
import { type Api, type Caller, startApiOn, useApi } from "../support/api.ts";
import { data, type Org, resource } from "../support/builders.ts";

const api = useApi();
const isSqlite = inject("engine") === "sqlite";
/** Another server on the same register. */
let other: Api;
let org: Org;
let elsewhere: Org;

beforeAll(async () => {
  const database = openDatabase(api.address);
  other = await startApiOn({ address: api.address, database, drop: () => database.close() });
  [org, elsewhere] = [await api.makeOrganization(), await api.makeOrganization()];
});
afterAll(() => other.stop());

/** What a response of the organization needs. */
async function pathsOf({ name, defaultProjectId, owner }: Org) {
  const { id: workspaceId, attributes } = await api.makeWorkspace(name);
  const team = await api.makeTeam(name);
  const set = data(
    await owner.post(`/organizations/${name}/varsets`, resource("varsets", { name: `set-${workspaceId}` })),
  );
  return [
    `/workspaces/${workspaceId}`,
    `/organizations/${name}/workspaces/${attributes.name}`,
    `/organizations/${name}/workspaces?page[size]=20`,
    `/organizations/${name}/projects`,
    `/projects/${defaultProjectId}`,
    `/organizations/${name}/teams`,
    `/teams/${team.id}`,
    `/teams/${team.id}/reach`,
    `/users/${owner.id}/reach?filter[organization][name]=${name}`,
    `/organizations/${name}/varsets`,
    `/varsets/${set.id}`,
    `/workspaces/${workspaceId}/vars`,
    `/organizations/${name}`,
  ];
}

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const before = api.database.statementCount();
  await work();
  return api.database.statementCount() - before;
}

describe("a cached response", () => {
  it("stays fresh when another organization changes, also through another server, and when somebody signs in", async () => {
    const { id } = await api.makeWorkspace(elsewhere.name);
    const there = other.as(elsewhere.owner.token);
    for (const path of await pathsOf(org)) {
      await org.owner.get(path);
      await org.owner.get(path);
      await there.patch(`/workspaces/${id}`, resource("workspaces", { description: path }));
      await other.as(org.owner.token).post(`/users/${org.owner.id}/authentication-tokens`);
      // The look-up of the token.
      expect(await statementsOf(() => org.owner.get(path)), path).toBeLessThanOrEqual(1);
    }
  });

  it("is read again when the site changes", async () => {
    const path = `/organizations/${org.name}/workspaces?page[size]=20`;
    await org.owner.get(path);
    const member = await api.makeMember(elsewhere.name);
    await org.owner.get(path);
    await other.admin.patch(`/admin/users/${member.id}`, resource("users", { email: `new-${member.id}@example.com` }));
    expect(await statementsOf(() => org.owner.get(path))).toBeGreaterThan(1);
  });

  it("depends on recorded tables only, if it names its organization", async () => {
    const texts: string[] = [];
    const watched = await watchedServer(texts);
    const paths = await pathsOf(org);
    texts.length = 0;
    for (const path of paths) expect((await watched.as(org.owner.token).get(path)).status, path).toBe(200);
    const tables = tablesAfter(migrations.map(({ name }) => name));
    const read = tables.filter((table) =>
      texts.some((text) => !isTokenLookup(text) && new RegExp(`\\b(from|join) "?${table}\\b`).test(text)),
    );
    const recorded = migrations.flatMap(({ recordsChanges }) => Object.keys(recordsChanges ?? {}));
    expect(read.length).toBeGreaterThan(8);
    expect(read.filter((table) => !recorded.includes(table))).toEqual([]);
    await watched.stop();
  });
});

/** Every request runs it, so it is never cached. */
const isTokenLookup = (text: string): boolean => /from "?tokens"? as "?k\b/.test(text);

/** A server that notes its statements. */
async function watchedServer(texts: string[]): Promise<Api> {
  const database = openDatabase(api.address);
  const { reader } = database;
  const execute = <Row>(query: CompiledQuery) => {
    texts.push(query.sql);
    return (reader.execute as NonNullable<typeof reader.execute>)<Row>(query);
  };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }: PluginTransformQueryArgs) => {
      texts.push(reader.db.getExecutor().compileQuery(node as never, queryId).sql);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const db = reader.db.withPlugin(plugin) as typeof reader.db;
  const seen = { ...database, reader: { ...reader, db, execute } };
  return startApiOn({ address: api.address, database: seen, drop: () => database.close() });
}

/** A request with its own Accept header finds nothing in the cache. */
let bypassed = 0;
const bypass = (caller: Caller, path: string) => {
  bypassed += 1;
  return caller.get(path, { accept: `application/vnd.api+json;bypass=${bypassed}` });
};

describe("while others write", () => {
  const rounds = 12;

  it("each cached response shows what was committed before its request, on both servers", async () => {
    const workspaces = await Promise.all(Array.from({ length: 4 }, () => api.makeWorkspace(org.name)));
    const outside = await api.makeWorkspace(elsewhere.name);
    const list = `/organizations/${org.name}/workspaces?page[size]=100`;
    let count = 0;
    const over = new AbortController();
    const write = async (server: Api, { token = "" }: Caller, ids: readonly string[]) => {
      while (!over.signal.aborted) {
        count += 1;
        const body = resource("workspaces", { description: String(count).padStart(9, "0") });
        expect((await server.as(token).patch(`/workspaces/${ids[count % ids.length]}`, body)).status).toBe(200);
      }
    };
    const ids = workspaces.map(({ id }) => id);
    const read = async (server: Api) => {
      const caller = server.as(org.owner.token);
      for (let round = 0; round < rounds; round += 1) {
        const before = shownIn(await bypass(caller, list));
        const cached = await Promise.all(Array.from({ length: 4 }, () => caller.get(list)));
        const after = shownIn(await bypass(caller, list));
        for (const response of cached) expectBetween(before, shownIn(response), after);
      }
    };
    const writers = [
      write(api, org.owner, ids),
      write(other, org.owner, ids),
      write(other, elsewhere.owner, [outside.id]),
    ];
    try {
      await Promise.all([read(api), read(other), read(api)]);
    } finally {
      over.abort();
      await Promise.all(writers);
    }
    expect(count).toBeGreaterThan(rounds);
  });
});

const shownIn = (response: Awaited<ReturnType<Caller["get"]>>): ReadonlyMap<string, string> =>
  new Map(
    data(response).map((each: { id: string; attributes: { description: string | null } }) => [
      each.id,
      each.attributes.description ?? "",
    ]),
  );

/** No description is written twice, so one that is the same before and after was not replaced in between. */
function expectBetween(
  before: ReadonlyMap<string, string>,
  shown: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): void {
  for (const [id, description] of before)
    if (after.get(id) === description) expect(shown.get(id), "the same before and after").toBe(description);
}

describe.runIf(!isSqlite)("on PostgreSQL", () => {
  it("identical requests that arrive together share one read", async () => {
    const { id } = await api.makeWorkspace(org.name);
    const list = `/organizations/${org.name}/workspaces?page[size]=100`;
    const askAll = () => Promise.all(Array.from({ length: 12 }, () => org.owner.get(list)));
    await askAll();
    const counts: number[] = [];
    for (let times = 0; times < 10; times += 1) {
      await org.owner.patch(`/workspaces/${id}`, resource("workspaces", { description: `${times}` }));
      let responses: Awaited<ReturnType<typeof askAll>> = [];
      counts.push(await statementsOf(async () => (responses = await askAll())));
      for (const response of responses)
        expect(shownIn(response).get(id), "every one shows the change").toBe(String(times));
    }
    // Alone, each would need three.
    expect(Math.min(...counts)).toBeLessThan(12);
  });
});
