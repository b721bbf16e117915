/** Changes that can't be previewed: what is wrong, at its place in the request. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  details,
  inProject,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeWorkspace,
  type Org,
  pointers,
  resource,
} from "../../../support/builders.ts";
import { askFor, givingProject, joining, permitting, previewed } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let project: string;
let workspace: Json;
let team: Json;
/** Has a record on the project already. */
let readers: Json;

beforeAll(async () => {
  org = await makeOrganization(api);
  project = (await makeProject(api, org.name)).id;
  workspace = await makeWorkspace(api, org.name, {}, inProject(project));
  [team, readers] = [await makeTeam(api, org.name), await makeTeam(api, org.name)];
  await makeTeamProject(api, project, readers.id, { access: "read" });
});

const ask = (changes: readonly Json[]) => askFor(org.owner, org.name, changes);
const give = (access = "read", teamId: string = team.id) => givingProject(access, teamId, project);

describe("422: a bad change, at its place", () => {
  it("that is no change of access: with a list of those that are", async () => {
    for (const path of ["/workspaces", `/runs/run-1`, "team-projects", "/team-projects/a/b", "/teams/%zz"]) {
      const answer = await ask([give(), { method: "POST", path }]);
      expect([answer.status, pointers(answer)], path).toEqual([422, ["/data/attributes/changes/1/path"]]);
      expect(details(answer)[0]).toContain("POST /team-projects");
    }
    const method = await ask([{ method: "DELETE", path: "/team-projects" }]);
    expect([pointers(method), details(method)]).toEqual([
      ["/data/attributes/changes/0/method"],
      ["Method must be one of: POST, for a change of access at this path"],
    ]);
  });

  it("whose body is wrong: every fault of all of them", async () => {
    const answer = await ask([
      { method: "POST", path: "/team-projects", body: resource("team-projects", { access: "most" }) },
      { method: "PATCH", path: `/workspaces/${workspace.id}`, body: resource("workspaces", { description: "x" }) },
      { method: "PATCH", path: `/teams/${team.id}` },
      { method: "POST", path: "/nowhere" },
    ]);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([
      "/data/attributes/changes/0/body/data/attributes/access",
      "/data/attributes/changes/0/body/data/relationships/team",
      "/data/attributes/changes/0/body/data/relationships/project",
      "/data/attributes/changes/1/body/data/relationships/project",
      "/data/attributes/changes/2/body/data",
      "/data/attributes/changes/3/path",
    ]);
  });

  it("that the register refuses: all of them, at their places", async () => {
    const answer = await ask([
      give("read", readers.id),
      give("read"),
      joining(team.id, "nobody-at-all"),
      give("write"),
      {
        method: "PATCH",
        path: `/workspaces/${workspace.id}`,
        body: resource("workspaces", {}, inProject("prj-none")),
      },
    ]);
    expect(pointers(answer)).toEqual([
      "/data/attributes/changes/0/body/data/relationships/team",
      "/data/attributes/changes/2/body/data/0/id",
      "/data/attributes/changes/3/body/data/relationships/team",
      "/data/attributes/changes/4/body/data/relationships/project",
    ]);
    expect(answer.status).toBe(422);
  });

  it("none, too many, without method or path, of another type", async () => {
    const refused = async (attributes: object, type = "access-previews") => {
      const answer = await org.owner.post(`/organizations/${org.name}/access-previews`, resource(type, attributes));
      expect(answer.status).toBe(422);
      return pointers(answer);
    };
    expect(await refused({})).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: [] })).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: Array(101).fill(give()) })).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: [{ method: "GET" }] })).toEqual([
      "/data/attributes/changes/0/method",
      "/data/attributes/changes/0/path",
    ]);
    expect(await refused({ changes: [give()], apply: true })).toEqual(["/data/attributes/access-version"]);
    expect(await refused({ changes: [give()] }, "previews")).toEqual(["/data/type"]);
  });

  it("a hundred go", async () => {
    const changes = Array.from({ length: 100 }, (_, index) => permitting(team.id, "read-projects", index % 2 === 0));
    expect((await previewed(org.owner, org.name, ...changes)).gains).toEqual([]);
  });
});
