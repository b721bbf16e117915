/**
 * vcs-repo: required keys, merging in an update, and removal. trigger-prefixes and trigger-patterns: a
 * list that is sent empties the other, unless both are sent.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource, unique } from "../../../support/builders.ts";
import { at, faults, makeOauthToken, pathById } from "./support.ts";

const api = useApi();
let org: Org;

describe("vcs", () => {
  let token: string;
  let otherToken: string;
  let foreignToken: string;
  beforeAll(async () => {
    org = await makeOrganization(api);
    token = await makeOauthToken(api, org.name, { name: "Our GitHub" });
    otherToken = await makeOauthToken(api, org.name, {
      name: "Our GitLab",
      "service-provider": "gitlab_hosted",
      "api-url": "https://gitlab.example/api/v4",
      "http-url": "https://gitlab.example",
    });
    foreignToken = await makeOauthToken(api, (await makeOrganization(api)).name);
  });

  const create = (vcs: unknown) =>
    org.owner.post(
      `/organizations/${org.name}/workspaces`,
      resource("workspaces", { name: unique("ws"), "vcs-repo": vcs }),
    );
  const malformed = at(
    "vcs-repo/identifier",
    "Vcs repo identifier must be of the form ORGANIZATION/REPOSITORY, without '.' and '..', '?', '#' and '\\'",
  );
  const noIdentifier = at("vcs-repo/identifier", "Vcs repo identifier can't be blank");
  const noToken = at("vcs-repo/oauth-token-id", "Vcs repo oauth token can't be blank");
  const unknownToken = at("vcs-repo/oauth-token-id", "Oauth token does not exist in this organization");
  const exclusive = at(
    "vcs-repo/github-app-installation-id",
    "Vcs repo github app installation id can't be sent together with oauth-token-id",
  );

  describe("createWorkspace: vcs-repo", () => {
    it("is taken with an identifier and a token, with its defaults", async () => {
      const answer = await create({ identifier: "acme/network", "oauth-token-id": token });
      expect(answer.status).toBe(201);
      expect(answer.body.data.attributes).toMatchObject({
        "vcs-repo": {
          branch: "",
          "display-identifier": "acme/network",
          identifier: "acme/network",
          "ingress-submodules": false,
          "oauth-token-id": token,
          "repository-http-url": "https://github.com/acme/network",
          "service-provider": "github",
          "tags-regex": null,
          "webhook-url": expect.stringMatching(/\/webhooks\/vcs\/oc-\w+$/),
        },
        "vcs-repo-identifier": "acme/network",
        "oauth-client-name": "Our GitHub",
      });
      expect(data(await org.owner.get(pathById(answer.body.data)))).toEqual(answer.body.data);
      const listed = data(await org.owner.get(`/organizations/${org.name}/workspaces?page[size]=100`));
      expect(listed.find((item: Json) => item.id === answer.body.data.id)).toEqual(answer.body.data);
    });

    it("takes every key", async () => {
      const made = data(
        await create({
          identifier: "acme/project/_git/network",
          "oauth-token-id": otherToken,
          branch: "main",
          "ingress-submodules": true,
          "tags-regex": "\\d+\\.\\d+$",
        }),
      );
      expect(made.attributes["vcs-repo"]).toMatchObject({
        identifier: "acme/project/_git/network",
        branch: "main",
        "ingress-submodules": true,
        "oauth-token-id": otherToken,
        "repository-http-url": "https://gitlab.example/acme/project/_git/network",
        "service-provider": "gitlab_hosted",
        "tags-regex": "\\d+\\.\\d+$",
      });
      expect(made.attributes["oauth-client-name"]).toBe("Our GitLab");
    });

    it("an empty branch is the repository's default branch", async () => {
      const made = data(await create({ identifier: "a/b", "oauth-token-id": token, branch: "" }));
      expect(made.attributes["vcs-repo"].branch).toBe("");
    });

    it("null is none", async () => {
      expect(data(await create(null)).attributes).toMatchObject({ "vcs-repo": null, "vcs-repo-identifier": null });
    });

    it.each<[string, () => object, [string, string][]]>([
      ["nothing in it", () => ({}), [noIdentifier, noToken]],
      ["no identifier", () => ({ "oauth-token-id": token }), [noIdentifier]],
      ["no token", () => ({ identifier: "a/b" }), [noToken]],
      ["a token that is null", () => ({ identifier: "a/b", "oauth-token-id": null }), [noToken]],
      ["a token that is blank", () => ({ identifier: "a/b", "oauth-token-id": "" }), [noToken]],
      [
        "both connections blank",
        () => ({ identifier: "a/b", "oauth-token-id": "", "github-app-installation-id": "" }),
        [noToken],
      ],
      ["an unknown token", () => ({ identifier: "a/b", "oauth-token-id": "ot-unknown" }), [unknownToken]],
      ["another organization's token", () => ({ identifier: "a/b", "oauth-token-id": foreignToken }), [unknownToken]],
      [
        "an identifier that is blank",
        () => ({ identifier: "", "oauth-token-id": token }),
        [at("vcs-repo/identifier", "Vcs repo identifier can't be blank")],
      ],
      ...[
        "acme",
        "/acme",
        "acme/",
        "a b/c",
        "a//b",
        "acme/..",
        "../acme",
        "a/./b",
        "a/%2E./b",
        "a/b?x",
        "a/b#x",
        "a/..\\b",
      ].map((identifier): [string, () => object, [string, string][]] => [
        `the identifier '${identifier}'`,
        () => ({ identifier, "oauth-token-id": token }),
        [malformed],
      ]),
      [
        "both kinds of connection",
        () => ({ identifier: "a/b", "oauth-token-id": token, "github-app-installation-id": "ghain-1" }),
        [exclusive],
      ],
    ])("%s is refused", async (_, vcs, expected) => {
      const answer = await create(vcs());
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual(expected);
    });
  });

  describe("updateWorkspace: vcs-repo", () => {
    let workspace: Json;
    beforeEach(async () => {
      workspace = await makeWorkspace(api, org.name, {
        "vcs-repo": {
          identifier: "acme/network",
          "oauth-token-id": token,
          branch: "main",
          "ingress-submodules": true,
          "tags-regex": "v.*",
        },
      });
    });
    const update = (vcs: unknown) => org.owner.patch(pathById(workspace), resource("workspaces", { "vcs-repo": vcs }));
    const merged = async (vcs: object) => data(await update(vcs)).attributes["vcs-repo"];

    it.each<[string, object, object]>([
      ["identifier", { identifier: "acme/other" }, { identifier: "acme/other", "display-identifier": "acme/other" }],
      ["branch", { branch: "release" }, { branch: "release" }],
      ["an empty branch", { branch: "" }, { branch: "" }],
      ["a branch that is null", { branch: null }, { branch: "" }],
      ["ingress-submodules", { "ingress-submodules": false }, { "ingress-submodules": false }],
      ["tags-regex", { "tags-regex": "w.*" }, { "tags-regex": "w.*" }],
      ["a tags-regex that is null", { "tags-regex": null }, { "tags-regex": null }],
      ["nothing", {}, {}],
      ["what it does not know", { colour: "blue" }, {}],
    ])("%s: only that changes", async (_, sent, expected) => {
      const shown = workspace.attributes["vcs-repo"];
      const after = await merged(sent);
      for (const key of [
        "identifier",
        "branch",
        "ingress-submodules",
        "tags-regex",
        "oauth-token-id",
        "service-provider",
      ])
        expect(after[key], key).toEqual({ ...shown, ...expected }[key]);
      expect(data(await org.owner.get(pathById(workspace))).attributes["vcs-repo"]).toEqual(after);
    });

    it("another token changes the provider", async () => {
      const { attributes } = data(await update({ "oauth-token-id": otherToken }));
      expect(attributes["vcs-repo"]).toMatchObject({
        "oauth-token-id": otherToken,
        "service-provider": "gitlab_hosted",
        branch: "main",
        "repository-http-url": "https://gitlab.example/acme/network",
      });
      expect(attributes["oauth-client-name"]).toBe("Our GitLab");
    });

    it("absent keeps it, null removes all of it", async () => {
      const kept = data(await org.owner.patch(pathById(workspace), resource("workspaces", { description: "x" })));
      expect(kept.attributes["vcs-repo"]).toEqual(workspace.attributes["vcs-repo"]);
      expect(data(await update(null)).attributes).toMatchObject({
        "vcs-repo": null,
        "vcs-repo-identifier": null,
        "oauth-client-name": null,
      });
      expect(faults(await update({ branch: "main" }))).toEqual([noIdentifier, noToken]);
      const again = await merged({ identifier: "a/b", "oauth-token-id": token });
      expect(again).toMatchObject({ branch: "", "ingress-submodules": false, "tags-regex": null });
    });

    it("adding one to a workspace without needs identifier and token", async () => {
      workspace = await makeWorkspace(api, org.name);
      expect(faults(await update({ identifier: "a/b" }))).toEqual([noToken]);
      expect(faults(await update({ "oauth-token-id": token }))).toEqual([noIdentifier]);
      expect(await merged({ identifier: "a/b", "oauth-token-id": token })).toMatchObject({ identifier: "a/b" });
    });

    it("an app's installation replaces the token, and the token the installation", async () => {
      expect(await merged({ "github-app-installation-id": "ghain-1" })).toMatchObject({
        identifier: "acme/network",
        "github-app-installation-id": "ghain-1",
        "oauth-token-id": null,
        "service-provider": "github_app",
      });
      expect(await merged({ "oauth-token-id": token })).toMatchObject({
        "github-app-installation-id": null,
        "oauth-token-id": token,
      });
    });

    it("with one kind of connection, the other can be blank, as clients send it", async () => {
      expect(await merged({ "github-app-installation-id": "ghain-1", "oauth-token-id": "" })).toMatchObject({
        "github-app-installation-id": "ghain-1",
        "oauth-token-id": null,
      });
      expect(await merged({ "oauth-token-id": token, "github-app-installation-id": "" })).toMatchObject({
        "github-app-installation-id": null,
        "oauth-token-id": token,
      });
    });

    it("an app's installation alone can add a repository", async () => {
      workspace = await makeWorkspace(api, org.name);
      expect(await merged({ identifier: "a/b", "github-app-installation-id": "ghain-1" })).toMatchObject({
        identifier: "a/b",
        "oauth-token-id": null,
      });
    });

    it.each<[string, () => object, [string, string][]]>([
      [
        "both connections",
        () => ({ "oauth-token-id": otherToken, "github-app-installation-id": "ghain-1" }),
        [exclusive],
      ],
      ["the token taken away", () => ({ "oauth-token-id": null }), [noToken]],
      ["the token blank", () => ({ "oauth-token-id": "" }), [noToken]],
      ["an unknown token", () => ({ "oauth-token-id": "ot-unknown" }), [unknownToken]],
      ["another organization's token", () => ({ "oauth-token-id": foreignToken }), [unknownToken]],
      ["a wrong identifier", () => ({ identifier: "acme" }), [malformed]],
    ])("%s is refused, and nothing changes", async (_, vcs, expected) => {
      const answer = await update(vcs());
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual(expected);
      expect(data(await org.owner.get(pathById(workspace)))).toEqual(workspace);
    });
  });
});

describe("triggers", () => {
  beforeAll(async () => {
    org = await makeOrganization(api);
  });

  interface Triggers {
    readonly prefixes?: readonly string[];
    readonly patterns?: readonly string[];
  }
  const attributesOf = ({ prefixes, patterns }: Triggers) => ({
    ...(prefixes && { "trigger-prefixes": prefixes }),
    ...(patterns && { "trigger-patterns": patterns }),
  });
  const both: Triggers = { prefixes: ["modules/"], patterns: ["/live/**/*"] };

  describe("updateWorkspace: triggers", () => {
    it.each<[string, Triggers, Triggers, Required<Triggers>]>([
      ["prefixes empty patterns", { patterns: ["**/*.tf"] }, { prefixes: ["a/"] }, { prefixes: ["a/"], patterns: [] }],
      ["patterns empty prefixes", { prefixes: ["a/"] }, { patterns: ["b/**"] }, { prefixes: [], patterns: ["b/**"] }],
      ["prefixes empty patterns where both were there", both, { prefixes: ["a/"] }, { prefixes: ["a/"], patterns: [] }],
      [
        "so do the prefixes that are there already",
        both,
        { prefixes: ["modules/"] },
        { prefixes: ["modules/"], patterns: [] },
      ],
      ["empty prefixes empty patterns", both, { prefixes: [] }, { prefixes: [], patterns: [] }],
      ["empty patterns empty prefixes", both, { patterns: [] }, { prefixes: [], patterns: [] }],
      ["both are kept if both are sent", {}, both, both as Required<Triggers>],
      ["neither sent, neither changes", both, {}, both as Required<Triggers>],
      [
        "one sent empty together with the other",
        both,
        { prefixes: ["a/"], patterns: [] },
        { prefixes: ["a/"], patterns: [] },
      ],
    ])("%s", async (_, before, sent, after) => {
      const workspace = await makeWorkspace(api, org.name, attributesOf(before));
      const body = resource("workspaces", { description: "changed", ...attributesOf(sent) });
      const changed = data(await org.owner.patch(pathById(workspace), body));
      expect(changed.attributes).toMatchObject(attributesOf(after));
      expect(data(await org.owner.get(pathById(workspace)))).toEqual(changed);
    });

    it("the audit event shows what was emptied", async () => {
      const workspace = await makeWorkspace(api, org.name, { "trigger-patterns": ["**/*.tf"] });
      data(await org.owner.patch(pathById(workspace), resource("workspaces", { "trigger-prefixes": ["a/"] })));
      const events = await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${workspace.id}`);
      expect(data(events)[0].attributes.before).toMatchObject({
        "trigger-prefixes": [],
        "trigger-patterns": ["**/*.tf"],
      });
      expect(data(events)[0].attributes.after).toMatchObject({ "trigger-prefixes": ["a/"], "trigger-patterns": [] });
    });
  });

  describe("createWorkspace: triggers", () => {
    it.each<[string, Triggers]>([
      ["both", both],
      ["prefixes alone", { prefixes: ["a/"] }],
      ["patterns alone", { patterns: ["b/**"] }],
    ])("%s stand as they are sent", async (_, sent) => {
      const made = await makeWorkspace(api, org.name, attributesOf(sent));
      expect(made.attributes).toMatchObject(attributesOf({ prefixes: [], patterns: [], ...sent }));
    });
  });
});
