/** Repositories and branches of a connection, against a fake API of each provider. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../support/api.ts";
import { makeMember, makeOrganization, makeTeam } from "../../support/builders.ts";
import { makeConnection } from "../../support/vcs.ts";
import { providers } from "../../support/vcs-payloads.ts";

const api = useApi();
let http: Server;
let url = "";
let asked: { readonly path: string; readonly authorization: string | undefined }[] = [];
/** Responses by path. */
let answer: (path: URL) => { readonly status?: number; readonly body: Json };

beforeAll(async () => {
  http = createServer((request, response) => {
    asked.push({ path: request.url ?? "", authorization: request.headers.authorization });
    const { status = 200, body } = answer(new URL(request.url ?? "", "http://provider"));
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => void http.close());
beforeEach(() => {
  asked = [];
});

/** The list API of each provider, by its documentation. */
interface Lists {
  readonly repositories: string;
  readonly branches: string;
  readonly pageOf: (query: URLSearchParams) => { number: number; size: number };
  readonly repository: (name: string) => Json;
  readonly branch: (name: string) => Json;
  readonly wrap?: (entries: Json[]) => Json;
  /** The provider's format of a repository's name. */
  readonly name: (short: string) => string;
  /** The maximum page size. */
  readonly cap?: number;
}

const numbered = (size: string) => (query: URLSearchParams) => ({
  number: Number(query.get("page")),
  size: Number(query.get(size)),
});
const values = (entries: Json[]) => ({ values: entries });
const githubLike = {
  repositories: "/user/repos",
  branches: "/repos/acme/network/branches",
  repository: (name: string) => ({ full_name: name }),
  branch: (name: string) => ({ name }),
  name: (short: string) => `acme/${short}`,
};
const lists: Readonly<Record<string, Lists>> = {
  github: { ...githubLike, pageOf: numbered("per_page") },
  gitea: { ...githubLike, pageOf: numbered("limit"), cap: 50 },
  forgejo: { ...githubLike, pageOf: numbered("limit"), cap: 50 },
  gitlab: {
    repositories: "/projects",
    branches: "/projects/acme%2Fnetwork/repository/branches",
    pageOf: numbered("per_page"),
    repository: (name) => ({ path_with_namespace: name }),
    branch: (name) => ({ name }),
    name: (short) => `acme/${short}`,
  },
  "bitbucket cloud": {
    repositories: "/repositories",
    branches: "/repositories/acme/network/refs/branches",
    pageOf: numbered("pagelen"),
    repository: (name) => ({ full_name: name }),
    branch: (name) => ({ name }),
    wrap: values,
    name: (short) => `acme/${short}`,
  },
  "bitbucket data center": {
    repositories: "/rest/api/1.0/repos",
    branches: "/rest/api/1.0/projects/acme/repos/network/branches",
    pageOf: (query) => {
      const size = Number(query.get("limit"));
      return { size, number: Number(query.get("start")) / size + 1 };
    },
    repository: (name) => ({ slug: name.split("/")[1], project: { key: "acme" } }),
    branch: (name) => ({ displayId: name }),
    wrap: values,
    name: (short) => `acme/${short}`,
  },
  "azure devops": {
    repositories: "/_apis/git/repositories",
    branches: "/acme/infra/_apis/git/repositories/network/refs",
    // No paging.
    pageOf: () => ({ number: 1, size: Number.POSITIVE_INFINITY }),
    repository: (name) => ({ remoteUrl: `${url}/${name}` }),
    branch: (name) => ({ name: `refs/heads/${name}` }),
    wrap: (entries) => ({ value: entries }),
    name: (short) => `acme/infra/_git/${short}`,
  },
};

async function connect(provider: string, credentials: object = {}) {
  const org = await makeOrganization(api);
  const { serviceProvider } = providers[provider] as { serviceProvider: string };
  const attributes = { "service-provider": serviceProvider, "api-url": url, "http-url": url, ...credentials };
  const { tokenId } = await makeConnection(org, attributes);
  return { org, path: `/oauth-tokens/${tokenId}` };
}

/** The data of the fake provider. */
function serve(list: Lists, repositories: readonly string[], branches: readonly string[] = []): void {
  const wrap = list.wrap ?? ((entries: Json[]) => entries);
  const part = (all: readonly Json[], query: URLSearchParams) => {
    const { number, size } = list.pageOf(query);
    const most = Math.min(size, list.cap ?? size);
    return wrap(all.slice((number - 1) * most, number * most));
  };
  answer = ({ pathname, searchParams }) => {
    if (pathname === list.repositories) return { body: part(repositories.map(list.repository), searchParams) };
    if (pathname === list.branches) return { body: part(branches.map(list.branch), searchParams) };
    return { status: 404, body: { message: "Not Found" } };
  };
}

const namesIn = ({ body }: { body: Json }) => body.data.map(({ id }: Json) => id);
const counted = (count: number, of: (short: string) => string) =>
  Array.from({ length: count }, (_, at) => of(`repository-${at}`));

describe.each(Object.entries(lists))("%s", (provider, list) => {
  const repository = list.name("network");

  it("lists repositories by page and by a part of the name", async () => {
    const { org, path } = await connect(provider);
    const all = [repository, ...counted(120, list.name)];
    serve(list, all);
    const first = await org.owner.get(`${path}/repositories?page[size]=100`);
    expect(namesIn(first)).toEqual(all.slice(0, 100));
    expect(first.body.data[0]).toMatchObject({ type: "repositories", attributes: { identifier: repository } });
    expect(first.body.meta).toMatchObject({ pagination: { "next-page": 2 }, "is-cut-short": false });
    const second = await org.owner.get(`${path}/repositories?page[size]=100&page[number]=2`);
    expect(namesIn(second)).toEqual(all.slice(100));
    expect(second.body.meta.pagination["next-page"]).toBeNull();
    expect(namesIn(await org.owner.get(`${path}/repositories?search[name]=SITORY-119`))).toEqual([
      list.name("repository-119"),
    ]);
    expect(asked.every(({ authorization }) => authorization !== undefined)).toBe(true);
  });

  it("lists the branches of a repository", async () => {
    const { org, path } = await connect(provider);
    serve(list, [repository], ["main", "dev", "feature/one"]);
    const query = `repository=${encodeURIComponent(repository)}`;
    expect(namesIn(await org.owner.get(`${path}/branches?${query}`))).toEqual(["main", "dev", "feature/one"]);
    expect(namesIn(await org.owner.get(`${path}/branches?${query}&search[name]=feat`))).toEqual(["feature/one"]);
    const other = encodeURIComponent(list.name("nothing"));
    expect((await org.owner.get(`${path}/branches?repository=${other}`)).status).toBe(404);
  });
});

describe("a request to a provider", () => {
  const github = lists["github"] as Lists;

  it("is limited to a number of pages, and the response says so", async () => {
    const { org, path } = await connect("github");
    serve(github, counted(2100, github.name));
    const found = await org.owner.get(`${path}/repositories?search[name]=repository-2099`);
    expect(found.body.data).toEqual([]);
    expect(found.body.meta["is-cut-short"]).toBe(true);
    expect(asked).toHaveLength(20);
  });

  it("is not cached", async () => {
    const { org, path } = await connect("github");
    serve(github, ["acme/one"]);
    expect(namesIn(await org.owner.get(`${path}/repositories`))).toEqual(["acme/one"]);
    serve(github, ["acme/two"]);
    expect(namesIn(await org.owner.get(`${path}/repositories`))).toEqual(["acme/two"]);
  });

  it.each([
    [401, 409, /Check the token/],
    [302, 409, /status 302/],
    [500, 503, /status 500.* Try again shortly\.$/],
    [429, 503, /status 429.* Try again shortly\.$/],
  ])("with the response %i leads to %i, with a message", async (status, ours, sentence) => {
    const { org, path } = await connect("github");
    answer = () => ({ status, body: { message: "no" } });
    const refused = await org.owner.get(`${path}/repositories`);
    expect(refused.status).toBe(ours);
    expect(refused.body.errors[0].detail).toMatch(sentence);
  });

  it("with a too large response is refused", async () => {
    const { org, path } = await connect("github");
    answer = () => ({ body: [{ full_name: "x".repeat(5 * 1024 * 1024) }] });
    const refused = await org.owner.get(`${path}/repositories`);
    expect(refused.status).toBe(409);
    expect(refused.body.errors[0].detail).toContain("more than 4194304 bytes");
  });

  it("409: to an address that the operator does not allow, every time", async () => {
    const org = await makeOrganization(api);
    const { tokenId } = await makeConnection(org, {
      "api-url": "https://10.11.12.13/api",
      "http-url": "https://10.11.12.13",
    });
    const refused = await org.owner.get(`/oauth-tokens/${tokenId}/repositories`);
    expect(refused.status).toBe(409);
    expect(refused.body.errors[0].detail).toContain("CADASTRE_ALLOW_PRIVATE_ADDRESSES");
  });

  it("400: an invalid repository, or none", async () => {
    const { org, path } = await connect("github");
    for (const query of ["", "?repository=../x", "?repository=x"])
      expect((await org.owner.get(`${path}/branches${query}`)).status).toBe(400);
    expect(asked).toEqual([]);
  });

  it("needs permission to use connections", async () => {
    const { org, path } = await connect("github");
    serve(github, ["acme/one"]);
    const team = await makeTeam(api, org.name, { "organization-access": { "manage-workspaces": true } });
    expect((await (await makeMember(api, org.name, [team.id])).get(`${path}/repositories`)).status).toBe(200);
    expect((await (await makeMember(api, org.name)).get(`${path}/repositories`)).status).toBe(404);
    expect((await (await makeOrganization(api)).owner.get(`${path}/repositories`)).status).toBe(404);
  });
});
