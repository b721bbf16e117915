/** The whole of a reach as CSV, streamed in pieces. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeTeam,
  makeTeamProject,
  makeWorkspace,
  type Org,
} from "../../../support/builders.ts";
import { rowsOfTable } from "../../../support/tables.ts";
import { manyWorkspaces } from "./support.ts";

const api = useApi();
const csv = { accept: "text/csv" };

const rowsIn = ({ body }: Answer) => rowsOfTable(String(body));

describe("listTeamReach as text/csv", () => {
  let org: Org;
  let team: Json;
  let path = "";
  beforeAll(async () => {
    org = await makeOrganization(api);
    team = await makeTeam(api, org.name, { name: "danger" });
    path = `/teams/${team.id}/reach`;
    await makeWorkspace(api, org.name, { name: "-1" });
    await makeWorkspace(api, org.name, { name: "plain" });
  });

  it("every column, and cells that no spreadsheet takes for a formula", async () => {
    const record = await makeTeamProject(api, org.defaultProjectId, team.id, { access: "write" });
    const answer = await org.owner.get(path, csv);
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="reach-${team.id}.csv"`);
    const rows = rowsIn(answer);
    expect(rows.map(({ kind, name, level }) => [kind, name, level])).toEqual([
      ["workspace", "'-1", "write"],
      ["project", "Default Project", "write"],
      ["workspace", "plain", "write"],
    ]);
    expect(rows[2]).toMatchObject({
      "project-id": org.defaultProjectId,
      "project-name": "Default Project",
      "can-queue-apply": "true",
      "can-force-delete": "false",
      "can-create-workspace": "",
      "given-by": `team-project ${record.id} (danger: write)`,
      "hidden-sources": "0",
    });
    expect(rows[1]).toMatchObject({ "can-create-workspace": "false", "can-queue-apply": "" });
  });

  it("the same filters and order, and the same refusals, as documents", async () => {
    const backwards = rowsIn(await org.owner.get(`${path}?sort=-name&filter[permission]=can-lock&page[size]=1`, csv));
    expect(backwards.map(({ name }) => name)).toEqual(["plain", "'-1"]);
    const stranger = await (await makeMember(api, org.name)).get(path, csv);
    expect([stranger.status, stranger.headers.get("content-type")]).toEqual([404, "application/vnd.api+json"]);
    expect((await org.owner.get(`${path}?filter[permission]=can-fly`, csv)).status).toBe(400);
  });

  it("a document, unless a table is wanted more", async () => {
    for (const accept of ["*/*", "application/vnd.api+json, text/csv", "text/csv;q=0", "text/*"])
      expect(data(await org.owner.get(path, { accept }))).toHaveLength(3);
    for (const accept of ["text/csv, */*;q=0.1", "application/json;q=0.5, TEXT/CSV"])
      expect(rowsIn(await org.owner.get(path, { accept }))).toHaveLength(3);
  });

  it("thousands, in pieces, each once and in order; and what a document says is still what was kept", async () => {
    const large = await makeOrganization(api);
    const everyone = await makeTeam(api, large.name);
    await makeTeamProject(api, large.defaultProjectId, everyone.id, { access: "read" });
    const names = await manyWorkspaces(api, large, 2100);
    for (const [sort, expected] of [
      ["name", [...names, "Default Project"].toSorted()],
      ["-name", [...names, "Default Project"].toSorted().toReversed()],
    ] as const) {
      for (const teamId of [everyone.id, large.ownersTeamId]) {
        const before = api.database.statementCount();
        const rows = rowsIn(await large.owner.get(`/teams/${teamId}/reach?sort=${sort}`, csv));
        expect(rows.map(({ name }) => name)).toEqual(expected);
        // The team, three pieces, and the token where it is not known from before; where it takes long, the token and the team again.
        expect(api.database.statementCount() - before).toBeLessThanOrEqual(5 + 2 * 3);
      }
    }
    const documents = await large.owner.get(`/teams/${everyone.id}/reach?page[size]=1`);
    expect(documents.body.meta.pagination["total-count"]).toBe(2101);
  });
});
