/** Reading a server of this API that lacks lists, fails, limits the request rate, and pages in different ways. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createVault } from "../../src/database/vault.ts";
import { importOrganization } from "../../src/moving/importing/import.ts";
import { SourceServer } from "../../src/moving/source-server.ts";
import { ImportReport } from "../../src/moving/report.ts";
import { listAll, MissingResource } from "../../src/moving/wire.ts";
import { operatorContext } from "../../src/service.ts";
import { type Json, useApi } from "../support/api.ts";
import { data, unique } from "../support/builders.ts";
import { stateOf } from "../support/states.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

/** By path; others are 404. */
let answers: Record<string, Answer>;
let requestedPaths: string[];
let tokens: Set<string | undefined>;

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "", "http://peer");
  requestedPaths.push(url.pathname);
  tokens.add(request.headers.authorization);
  const answer = answers[url.pathname];
  if (answer === undefined) response.writeHead(404).end('{"errors":[{"status":"404"}]}');
  else answer(request, response, url);
});
const listening = new Promise<string>((resolve) => {
  server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
});
afterAll(() => server.close());
beforeEach(() => {
  [answers, requestedPaths, tokens] = [{}, [], new Set()];
});

const json =
  (body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(200, { "content-type": "application/vnd.api+json", ...headers }).end(JSON.stringify(body));
const list = (type: string, ...things: [id: string, attributes: object, relationships?: object][]): Answer =>
  json({ data: things.map(([id, attributes, relationships = {}]) => ({ id, type, attributes, relationships })) });
/** One after the other; the last one repeats. */
const inTurn =
  (...turns: Answer[]): Answer =>
  (...call) =>
    (turns.length > 1 ? turns.shift() : turns[0])?.(...call);
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end();

async function open(): Promise<{ source: SourceServer; waited: number[] }> {
  const waited: number[] = [];
  const pause = async (ms: number) => void waited.push(ms);
  return { source: await SourceServer.open({ url: await listening, token: "a-token", pause }), waited };
}

describe("a source server", () => {
  test("names the path of its API; the default is /api/v2", async () => {
    const url = await listening;
    expect((await open()).source.base).toBe(`${url}/api/v2`);
    answers["/.well-known/terraform.json"] = json({ "tfe.v2": "/tfe/api/v2/" });
    expect((await open()).source.base).toBe(`${url}/tfe/api/v2`);
    expect((await SourceServer.open({ url: `${url}/mine/api/v2/`, token: "x" })).base).toBe(`${url}/mine/api/v2`);
  });

  test("has pages with links, with numbers or without either, and no page is read twice", async () => {
    const { source } = await open();
    const page = (id: string, rest: object): Answer => json({ data: [{ id, type: "things" }], ...rest });
    answers["/api/v2/linked"] = inTurn(
      page("a", { links: { next: "https://its.public.name/api/v2/linked?page=2" } }),
      page("b", { links: { next: null } }),
    );
    answers["/api/v2/numbered"] = inTurn(
      page("a", { meta: { pagination: { "next-page": 2 } } }),
      page("b", { meta: { pagination: { "next-page": null } } }),
    );
    answers["/api/v2/whole"] = page("a", {});
    answers["/api/v2/circle"] = page("a", { links: { next: "/api/v2/circle?page%5Bsize%5D=100" } });
    const ids = async (path: string) => (await listAll(source, path)).map(({ id }) => id);
    expect(await ids("/linked")).toEqual(["a", "b"]);
    expect(await ids("/numbered")).toEqual(["a", "b"]);
    expect(await ids("/whole")).toEqual(["a"]);
    expect(await ids("/circle")).toEqual(["a"]);
  });

  test("is retried after the time that it names, and after temporary failures", async () => {
    const { source, waited } = await open();
    answers["/api/v2/busy"] = inTurn(
      status(429, { "retry-after": "3" }),
      status(429, { "x-ratelimit-reset": "0.25" }),
      status(503),
      json({ data: { id: "a", type: "things" } }),
    );
    expect((await source.get("/busy")).id).toBe("a");
    expect(waited).toEqual(expect.arrayContaining([3000, 250]));
    answers["/api/v2/broken"] = status(500);
    await expect(source.get("/broken")).rejects.toThrow(MissingResource);
    expect(requestedPaths.filter((path) => path === "/api/v2/broken")).toHaveLength(8);
  });

  test("is not asked again before the rate limit that it reports is reset", async () => {
    const { source, waited } = await open();
    const thing = { data: { id: "a", type: "things" } };
    answers["/api/v2/last"] = json(thing, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2" });
    await source.get("/last");
    await source.get("/last");
    expect(waited.some((ms) => ms > 1000 && ms <= 2000)).toBe(true);
  });

  test("ends the import if it rejects the token, or limits the rate for too long", async () => {
    const { source } = await open();
    answers["/api/v2/secret"] = status(401);
    await expect(source.get("/secret")).rejects.toThrow("rejected the token");
    answers["/api/v2/never"] = status(429, { "retry-after": "120" });
    await expect(source.get("/never")).rejects.toThrow("has limited the request rate");
  });

  test("gets the token, other hosts don't; an incomplete download fails", async () => {
    const { source } = await open();
    const other = (await listening).replace("127.0.0.1", "localhost");
    answers["/v1/object/1"] = (_, response) => response.end("a state");
    const contentOf = async (address: string) => {
      let text = "";
      for await (const piece of await source.content(address)) text += Buffer.from(piece).toString();
      return text;
    };
    tokens.clear();
    expect(await contentOf(`${other}/v1/object/1`)).toBe("a state");
    expect(tokens).toEqual(new Set([undefined]));
    answers["/api/v2/short"] = (_, response) => {
      response.writeHead(200, { "content-length": "10" }).write("short");
      setImmediate(() => response.destroy());
    };
    await expect(contentOf("short")).rejects.toThrow();
  });
});

describe("an import from a server that lacks lists and fails sometimes", () => {
  const api = useApi();

  test("imports what exists, and reports every gap", async () => {
    const name = unique("peer");
    const of = (rest: string) => `/api/v2/organizations/${name}${rest}`;
    const state = stateOf({ serial: 5 });
    const { source } = await open();
    answers = {
      [of("")]: json({ data: { id: name, type: "organizations", attributes: { email: "a@example.com", novelty: 1 } } }),
      [of("/projects")]: list("projects", ["prj-1", { name: "Default Project" }], ["prj-2", { name: "a/b" }]),
      [of("/teams")]: inTurn(status(502), list("teams", ["team-1", { name: "ops", "organization-access": null }])),
      [of("/workspaces")]: list(
        "workspaces",
        [
          "ws-1",
          {
            name: "one",
            "working-directory": "../elsewhere",
            "vcs-repo": { identifier: "a/b", "oauth-token-id": "ot-1" },
          },
        ],
        ["ws-2", { name: "two", "execution-mode": "agent" }, { project: { data: { id: "prj-2", type: "projects" } } }],
      ),
      [of("/policy-sets")]: list("policy-sets", ["polset-1", { name: "rules" }]),
      "/api/v2/workspaces/ws-1/vars": list("vars", ["var-1", { key: "a", value: "1", category: "terraform" }]),
      "/api/v2/workspaces/ws-1/state-versions": list(
        "state-versions",
        ["sv-3", { serial: 6, status: "backing_data_soft_deleted" }],
        ["sv-2", { serial: 5, "created-at": "2020-01-02T03:04:05Z", "hosted-state-download-url": "/api/v2/object/2" }],
        ["sv-1", { serial: 4, "hosted-state-download-url": "/api/v2/object/1" }],
      ),
      "/api/v2/state-versions/sv-1": status(404),
      // The first download is incomplete.
      "/api/v2/object/2": inTurn(
        (_, response) => {
          response.writeHead(200, { "content-length": String(state.length) }).write(state.slice(0, 9));
          setImmediate(() => response.destroy());
        },
        (_, response) => response.end(state),
      ),
    };
    const report = new ImportReport();
    const operator = operatorContext(api.database, { organizationCreation: "site-admins" }, "test");
    const context = { ...operator, vault: createVault(Buffer.alloc(32, 7)) };
    await importOrganization({ context, source, from: name, to: name, dry: false, concurrency: 2, report });

    const gaps = report.gaps.map(({ kind, thing }) => `${kind}: ${thing}`);
    expect(gaps.toSorted()).toEqual(
      [
        "agent-pools: all",
        "organization-memberships: all",
        "policy-sets: rules",
        "projects: a/b",
        "remote-state-consumers: one",
        "runs: one",
        "ssh-keys: all",
        "state-versions: one, serial 4",
        "state-versions: one, serial 6",
        "team-projects: Default Project",
        "team-workspaces: one",
        "varsets: all",
        "workspaces: one, working-directory",
        "workspaces: one, vcs-repo",
        "workspaces: two",
      ].toSorted(),
    );
    const one = data(await api.admin.get(`/organizations/${name}/workspaces/one`));
    const current = data(await api.admin.get(`/workspaces/${one.id}/current-state-version`));
    expect(current.attributes).toMatchObject({ serial: 5, "created-at": "2020-01-02T03:04:05.000Z" });
    expect(
      data(await api.admin.get(`/workspaces/${one.id}/vars`)).map(({ attributes }: Json) => attributes.key),
    ).toEqual(["a"]);
  });
});
