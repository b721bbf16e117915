/** POST /organizations/:organization_name/workspaces: the created document, and requests that are refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import { namesAccepted, namesRefused, plainAttributes, refusedValues } from "./attributes.ts";
import { at, faults, pathById, pathByName, tagged } from "./support.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
});

const path = () => `/organizations/${org.name}/workspaces`;
const create = (attributes: object, relationships?: object): Promise<Answer> =>
  org.owner.post(path(), resource("workspaces", { name: unique("ws"), ...attributes }, relationships));
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const allPermissions = Object.fromEntries(
  [
    "can-update",
    "can-destroy",
    "can-queue-run",
    "can-read-run",
    "can-read-variable",
    "can-update-variable",
    "can-read-state-versions",
    "can-read-state-outputs",
    "can-create-state-versions",
    "can-queue-apply",
    "can-lock",
    "can-unlock",
    "can-force-unlock",
    "can-read-settings",
    "can-manage-tags",
    "can-manage-run-tasks",
    "can-force-delete",
    "can-manage-assessments",
    "can-manage-ephemeral-workspaces",
    "can-read-assessment-results",
    "can-queue-destroy",
  ].map((name) => [name, true]),
);

const initialAttributes = (name: string): Json => ({
  name,
  description: null,
  actions: { "is-destroyable": true },
  "allow-destroy-plan": true,
  "auto-apply": false,
  "auto-apply-run-trigger": false,
  "auto-destroy-at": null,
  "auto-destroy-status": null,
  "auto-destroy-activity-duration": null,
  "inherits-project-auto-destroy": true,
  "created-at": timestamp,
  "updated-at": timestamp,
  "latest-change-at": timestamp,
  "last-assessment-result-at": null,
  environment: "default",
  "execution-mode": "remote",
  operations: true,
  "file-triggers-enabled": true,
  "trigger-prefixes": [],
  "trigger-patterns": [],
  "global-remote-state": false,
  "project-remote-state": false,
  locked: false,
  "locked-reason": null,
  "locked-at": null,
  "lock-expires-at": null,
  "oauth-client-name": null,
  "queue-all-runs": false,
  "speculative-enabled": true,
  source: "tfe-api",
  "source-name": null,
  "source-url": null,
  "structured-run-output-enabled": true,
  "tag-names": [],
  engine: null,
  "engine-version": "1.14.9",
  "terraform-version": "1.14.9",
  "working-directory": null,
  "vcs-repo": null,
  "vcs-repo-identifier": null,
  "setting-overwrites": { "execution-mode": false, "agent-pool": false },
  permissions: allPermissions,
  "apply-duration-average": 0,
  "plan-duration-average": 0,
  "policy-check-failures": 0,
  "run-failures": 0,
  "workspace-kpis-runs-count": 0,
  "resource-count": 0,
});

describe("createWorkspace: source", () => {
  it.each([
    ["HashiCorp Terraform/1.5.7 (+https://www.terraform.io)", "terraform"],
    ["OpenTofu/1.8.0", "terraform"],
    ["go-tfe", "tfe-api"],
    ["curl/8.0", "tfe-api"],
  ])("of a client that calls itself %s is %s", async (agent, source) => {
    const { name, owner } = await makeOrganization(api);
    const body = resource("workspaces", { name: "made" });
    const answer = await owner.post(`/organizations/${name}/workspaces`, body, { "user-agent": agent });
    expect(answer.body.data.attributes.source).toBe(source);
  });
});

describe("createWorkspace: the document", () => {
  it("has every attribute with its default, every relationship and link", async () => {
    const name = unique("plain");
    const answer = await create({ name });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("content-type")).toBe("application/vnd.api+json");
    const { id } = answer.body.data;
    const ofWorkspace = (rest: string) => ({ links: { related: `/api/v2/workspaces/${id}/${rest}` } });
    expect(answer.body).toEqual({
      data: {
        id: expect.stringMatching(/^ws-[A-Za-z0-9]{16}$/),
        type: "workspaces",
        attributes: initialAttributes(name),
        relationships: {
          "agent-pool": { data: null },
          "current-assessment-result": { data: null },
          "current-configuration-version": { data: null },
          "current-run": { data: null },
          "latest-run": { data: null },
          "current-state-version": { data: null },
          "data-retention-policy": { data: null },
          "locked-by": { data: null },
          organization: {
            data: { id: org.name, type: "organizations" },
            links: { related: `/api/v2/organizations/${org.name}` },
          },
          outputs: { data: [] },
          project: {
            data: { id: org.defaultProjectId, type: "projects" },
            links: { related: `/api/v2/projects/${org.defaultProjectId}` },
          },
          readme: { data: null },
          "remote-state-consumers": ofWorkspace("relationships/remote-state-consumers"),
          "ssh-key": { data: null },
          tags: ofWorkspace("relationships/tags"),
          "tag-bindings": ofWorkspace("tag-bindings"),
          vars: { data: [] },
        },
        links: {
          self: `/api/v2/organizations/${org.name}/workspaces/${name}`,
          "self-html": `/app/${org.name}/workspaces/${name}`,
        },
      },
    });
    const { "created-at": created, "updated-at": updated, "latest-change-at": changed } = answer.body.data.attributes;
    expect([updated, changed]).toEqual([created, created]);
  });

  it("is the same from show by id, show by name and the list", async () => {
    const made = data(
      await create(
        {
          description: "the same everywhere",
          "auto-destroy-activity-duration": "3d",
          "execution-mode": "local",
          "engine-version": "~> 1.5.0",
          "trigger-prefixes": ["a"],
          "source-name": "a client",
          "source-url": "https://client.example",
        },
        tagged("beta", "alpha"),
      ),
    );
    expect(made.attributes["tag-names"]).toEqual(["alpha", "beta"]);
    expect(data(await org.owner.get(pathById(made)))).toEqual(made);
    expect(data(await org.owner.get(pathByName(made)))).toEqual(made);
    expect(data(await org.owner.get(`${path()}?search[name]=${made.attributes.name}`))).toEqual([made]);
    expect(data(await org.owner.get(made.links.self))).toEqual(made);
  });

  it("has links.self that leads to it also where the organization's name is written in another case", async () => {
    const made = data(await create({}));
    const answer = await org.owner.get(`/organizations/${org.name.toUpperCase()}/workspaces/${made.attributes.name}`);
    expect(data(answer)).toEqual(made);
  });
});

describe("createWorkspace: plain attributes", () => {
  it.each(plainAttributes)(
    "$name: a value is taken, and the rest has its default",
    async ({ name, other, implies }) => {
      const answer = await create({ name: unique("ws"), [name]: other });
      expect(answer.status).toBe(201);
      const { attributes } = answer.body.data;
      expect(attributes).toEqual({ ...initialAttributes(attributes.name), ...implies, [name]: other });
      expect(data(await org.owner.get(pathById(answer.body.data)))).toEqual(answer.body.data);
    },
  );

  it.each(plainAttributes)("$name: its default can be sent", async ({ name, initially }) => {
    const { attributes } = data(await create({ [name]: initially }));
    expect(attributes).toEqual(initialAttributes(attributes.name));
  });

  it("takes source-name and source-url", async () => {
    const sent = { "source-name": "Platform portal", "source-url": "https://p.example/9" };
    expect(data(await create(sent)).attributes).toMatchObject(sent);
  });

  it("an empty working directory is the repository's root", async () => {
    expect(data(await create({ "working-directory": "" })).attributes["working-directory"]).toBeNull();
  });

  it("ignores unknown and read-only attributes", async () => {
    const answer = await create({
      colour: "blue",
      locked: true,
      "locked-reason": "no",
      source: "moon",
      environment: "moon",
      "resource-count": 9,
      "run-failures": 9,
      "tag-names": ["moon"],
      "created-at": "2001-01-01T00:00:00.000Z",
      "updated-at": "2001-01-01T00:00:00.000Z",
      "latest-change-at": "2001-01-01T00:00:00.000Z",
      "auto-destroy-status": "queued",
      "vcs-repo-identifier": "a/b",
      actions: { "is-destroyable": false },
      permissions: { "can-update": false },
      "migration-environment": "x",
    });
    expect(answer.status).toBe(201);
    const { attributes } = answer.body.data;
    expect(attributes).toEqual(initialAttributes(attributes.name));
    expect(attributes["created-at"] > "2020").toBe(true);
  });

  it("does not return agent-pool-id, which is write-only", async () => {
    expect(data(await create({})).attributes).not.toHaveProperty("agent-pool-id");
  });
});

describe("createWorkspace: name", () => {
  it.each(namesAccepted)("takes %j", async (name) => {
    const own = await makeOrganization(api);
    const answer = await own.owner.post(`/organizations/${own.name}/workspaces`, resource("workspaces", { name }));
    expect(answer.status).toBe(201);
    expect(answer.body.data.attributes.name).toBe(name);
    expect(data(await own.owner.get(`/organizations/${own.name}/workspaces/${name}`))).toEqual(answer.body.data);
  });

  it.each(namesRefused)("refuses %j", async (name, sentence) => {
    const answer = await create({ name });
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([at("name", sentence)]);
  });

  it("is required", async () => {
    const answer = await org.owner.post(path(), resource("workspaces", {}));
    expect(faults(answer)).toEqual([at("name", "Name can't be blank")]);
  });

  it("is unique in the organization and case-sensitive; another organization can use it", async () => {
    const name = unique("Taken");
    data(await create({ name }));
    const again = await create({ name });
    expect(again.status).toBe(422);
    expect(again.body.errors).toEqual([
      {
        status: "422",
        title: "invalid attribute",
        detail: "Name has already been taken",
        source: { pointer: "/data/attributes/name" },
      },
    ]);
    const lower = data(await create({ name: name.toLowerCase() }));
    expect(data(await org.owner.get(`${path()}/${name.toLowerCase()}`)).id).toBe(lower.id);
    expect((await org.owner.get(`${path()}/${name.toUpperCase()}`)).status).toBe(404);
    const other = await makeOrganization(api);
    const elsewhere = await other.owner.post(
      `/organizations/${other.name}/workspaces`,
      resource("workspaces", { name }),
    );
    expect(elsewhere.status).toBe(201);
  });

  it("creates only one of many concurrent requests with the same name", async () => {
    const name = unique("race");
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 422)]);
    for (const refused of answers.filter(({ status }) => status === 422))
      expect(faults(refused)).toEqual([at("name", "Name has already been taken")]);
    const found = data(await org.owner.get(`${path()}?search[name]=${name}`));
    expect(found).toHaveLength(1);
  });
});

describeOnce("createWorkspace: refused values", () => {
  let before: number;
  const count = async () => (await org.owner.get(path())).body.meta.pagination["total-count"];
  beforeEach(async () => {
    before = await count();
  });

  it.each(refusedValues)("%s: %j", async (name, value, pointer, sentence) => {
    const answer = await create({ [name]: value });
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([at(pointer, sentence)]);
    expect(await count()).toBe(before);
  });

  it.each([
    ["source-name", 5, "Source name must be a string"],
    ["source-url", [], "Source url must be a string"],
    ["source-name", "x".repeat(256), "Source name is too long (maximum is 255 characters)"],
  ])("%s: %j", async (name, value, sentence) => {
    expect(faults(await create({ [name]: value }))).toEqual([at(name, sentence)]);
  });

  it("reports all faults of the body in one response", async () => {
    const answer = await org.owner.post(path(), {
      data: {
        type: "projects",
        attributes: {
          name: "a b",
          "auto-apply": 1,
          "working-directory": "..",
          "engine-version": "new",
          "terraform-version": "old",
          "auto-destroy-activity-duration": "1w",
          "vcs-repo": { branch: 1, "ingress-submodules": 1 },
        },
        relationships: { project: { data: { type: "teams", id: "x" } }, tags: { data: "x" } },
      },
    });
    expect(answer.status).toBe(422);
    expect(
      faults(answer)
        .map(([pointer]) => pointer)
        .sort(),
    ).toEqual([
      "/data/attributes/auto-apply",
      "/data/attributes/auto-destroy-activity-duration",
      "/data/attributes/engine-version",
      "/data/attributes/name",
      "/data/attributes/terraform-version",
      "/data/attributes/vcs-repo/branch",
      "/data/attributes/vcs-repo/ingress-submodules",
      "/data/attributes/working-directory",
      "/data/relationships/project/data",
      "/data/relationships/tags/data",
      "/data/type",
    ]);
  });
});

describe("createWorkspace: refused because of stored data", () => {
  it("reports all conflicts with stored data in one response", async () => {
    const name = unique("taken");
    data(await create({ name }));
    const answer = await create({
      name,
      "execution-mode": "agent",
      "agent-pool-id": "apool-unknown",
      "vcs-repo": { identifier: "a/b", "oauth-token-id": "ot-unknown" },
    });
    expect(faults(answer)).toEqual([
      at("name", "Name has already been taken"),
      at("agent-pool-id", "Agent pool does not exist in this organization"),
      at("vcs-repo/oauth-token-id", "Oauth token does not exist in this organization"),
    ]);
  });
});

describeOnce("createWorkspace: refused bodies", () => {
  it.each([
    [undefined],
    [{}],
    [{ data: [] }],
    [{ data: null }],
    [[]],
    ["text"],
    [{ data: { attributes: { name: "x" } } }],
  ])("a body that is %j", async (body) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    expect((await org.owner.post(path(), text)).status).toBe(422);
  });

  it.each(["/data/attributes", "/data/relationships"])("%s that is no object", async (pointer) => {
    const member = pointer.split("/").at(-1) ?? "";
    const body = { data: { type: "workspaces", attributes: { name: unique("ws") }, [member]: [1] } };
    expect(faults(await org.owner.post(path(), body)).map(([place]) => place)).toContain(pointer);
  });
});
