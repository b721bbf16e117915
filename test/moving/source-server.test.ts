/** Another server of this API, played here: it lacks lists, fails, asks to wait, and counts its pages as it likes. */
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

/** By path; what is not here is 404. */
let answers: Record<string, Answer>;
let asked: string[];
let tokens: Set<string | undefined>;

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "", "http://peer");
  asked.push(url.pathname);
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
  [answers, asked, tokens] = [{}, [], new Set()];
});

const json =
  (body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(200, { "content-type": "application/vnd.api+json", ...headers }).end(JSON.stringify(body));
const list = (type: string, ...things: [id: string, attributes: object, relationships?: object][]): Answer =>
  json({ data: things.map(([id, attributes, relationships = {}]) => ({ id, type, attributes, relationships })) });
/** One after the other; the last stays. */
const inTurn =
  (...turns: Answer[]): Answer =>
  (...call) =>
    (turns.length > 1 ? turns.shift() : turns[0])?.(...call);
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end();

async function open(): Promise<{ peer: SourceServer; waited: number[] }> {
  const waited: number[] = [];
  const pause = async (ms: number) => void waited.push(ms);
  return { peer: await SourceServer.open({ url: await listening, token: "a-token", pause }), waited };
}

describe("a peer", () => {
  test("is asked where its API is, and found where it says nothing", async () => {
    const url = await listening;
    expect((await open()).peer.base).toBe(`${url}/api/v2`);
    answers["/.well-known/terraform.json"] = json({ "tfe.v2": "/tfe/api/v2/" });
    expect((await open()).peer.base).toBe(`${url}/tfe/api/v2`);
    expect((await SourceServer.open({ url: `${url}/mine/api/v2/`, token: "x" })).base).toBe(`${url}/mine/api/v2`);
  });

  test("pages are followed by link, by number, or not at all, and never in a circle", async () => {
    const { peer } = await open();
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
    const ids = async (path: string) => (await listAll(peer, path)).map(({ id }) => id);
    expect(await ids("/linked")).toEqual(["a", "b"]);
    expect(await ids("/numbered")).toEqual(["a", "b"]);
    expect(await ids("/whole")).toEqual(["a"]);
    expect(await ids("/circle")).toEqual(["a"]);
  });

  test("is waited for as long as it says, and tried again where it fails for the moment", async () => {
    const { peer, waited } = await open();
    answers["/api/v2/busy"] = inTurn(
      status(429, { "retry-after": "3" }),
      status(429, { "x-ratelimit-reset": "0.25" }),
      status(503),
      json({ data: { id: "a", type: "things" } }),
    );
    expect((await peer.get("/busy")).id).toBe("a");
    expect(waited).toEqual(expect.arrayContaining([3000, 250]));
    answers["/api/v2/broken"] = status(500);
    await expect(peer.get("/broken")).rejects.toThrow(MissingResource);
    expect(asked.filter((path) => path === "/api/v2/broken")).toHaveLength(8);
  });

  test("where it says that this was the last for now, nobody asks before it allows more", async () => {
    const { peer, waited } = await open();
    const thing = { data: { id: "a", type: "things" } };
    answers["/api/v2/last"] = json(thing, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2" });
    await peer.get("/last");
    await peer.get("/last");
    expect(waited.some((ms) => ms > 1000 && ms <= 2000)).toBe(true);
  });

  test("ends everything where the token is refused, and where it always asks to come back later", async () => {
    const { peer } = await open();
    answers["/api/v2/secret"] = status(401);
    await expect(peer.get("/secret")).rejects.toThrow("rejected the token");
    answers["/api/v2/never"] = status(429, { "retry-after": "120" });
    await expect(peer.get("/never")).rejects.toThrow("has limited the request rate");
  });

  test("the token goes to the server alone, and a content that breaks off is not taken for the whole", async () => {
    const { peer } = await open();
    const other = (await listening).replace("127.0.0.1", "localhost");
    answers["/v1/object/1"] = (_, response) => response.end("a state");
    const gathered = async (address: string) => {
      let text = "";
      for await (const piece of await peer.content(address)) text += Buffer.from(piece).toString();
      return text;
    };
    tokens.clear();
    expect(await gathered(`${other}/v1/object/1`)).toBe("a state");
    expect(tokens).toEqual(new Set([undefined]));
    answers["/api/v2/short"] = (_, response) => {
      response.writeHead(200, { "content-length": "10" }).write("short");
      setImmediate(() => response.destroy());
    };
    await expect(gathered("short")).rejects.toThrow();
  });
});

describe("an import from a server that has little, and fails in between", () => {
  const api = useApi();

  test("brings what there is, and names every gap", async () => {
    const name = unique("peer");
    const of = (rest: string) => `/api/v2/organizations/${name}${rest}`;
    const state = stateOf({ serial: 5 });
    const { peer } = await open();
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
      // The first time it breaks off.
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
    await importOrganization({ context, source: peer, from: name, to: name, dry: false, concurrency: 2, report });

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
