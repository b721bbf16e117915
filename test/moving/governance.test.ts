/** Access rules and offers move with their organization: ids that they name are those of the target, and rules there apply to a later import. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, type Json, startApi, useApi } from "../support/api.ts";
import { data, type Org, resource } from "../support/builders.ts";
import { cadastre, useFolder } from "../cli/support.ts";

const source = useApi();
const folder = useFolder();
let target: Api;
let org: Org;
let team: Json;
let project: Json;

const key = Buffer.alloc(32, 7).toString("hex");
const settingsOf = ({ address }: Api) => ({ CADASTRE_DATABASE: address, CADASTRE_ENCRYPTION_KEY: key });
const renamed = () => `${org.name}-moved`;

async function runImport(): Promise<Json> {
  const { out } = await cadastre(["import", org.name, "--from", source.url, "--json", "--to-organization", renamed()], {
    ...settingsOf(target),
    CADASTRE_IMPORT_TOKEN: source.admin.token ?? "",
  });
  return JSON.parse(out);
}

const named = (all: Json[], name: string): Json => all.find(({ attributes }) => attributes.name === name);
const listOf = async (kind: string): Promise<Json[]> =>
  data(await target.admin.get(`/organizations/${renamed()}/${kind}?page[size]=100`));

const policyFor = (teamId: string, organizationName: string) =>
  `@message("Ask ${teamId}.")
forbid (principal, action == Action::"grant", resource)
when { context has team && context.team == Team::"${teamId}" && context has access && context.access == "admin" }
unless { principal == Organization::"${organizationName}" && resource in Organization::"${organizationName}" };`;

beforeAll(async () => {
  target = await startApi();
  org = await source.makeOrganization();
  team = await source.makeTeam(org.name, { name: "on-call" });
  project = await source.makeProject(org.name, { name: "payments" });
  const inside = (rest: string) => `/organizations/${org.name}${rest}`;
  const rule = { name: "No admins", policy: policyFor(team.id, org.name), enforcement: "approval", enabled: false };
  data(await source.admin.post(inside("/access-rules"), resource("access-rules", rule)));
  const unknown = { name: "Unknown", policy: policyFor("team-1234567890abcdef", org.name), enforcement: "advise" };
  data(await source.admin.post(inside("/access-rules"), resource("access-rules", unknown)));
  const changes = [
    {
      method: "POST",
      path: "/api/v2/team-projects",
      body: resource(
        "team-projects",
        { access: "write" },
        {
          project: { data: { type: "projects", id: project.id } },
          team: { data: { type: "teams", id: team.id } },
        },
      ),
    },
    {
      method: "POST",
      path: `/api/v2/teams/${team.id}/relationships/users`,
      body: { data: [{ type: "users", id: "$user" }] },
    },
  ];
  const offer = resource(
    "access-offers",
    { name: "Break glass", changes, "duration-seconds-max": 3600, approvals: "none" },
    { "eligible-teams": { data: [{ type: "teams", id: team.id }] } },
  );
  data(await source.admin.post(inside("/access-offers"), offer));
});
afterAll(() => target.stop());

test("an import carries rules and offers, with the ids and the name of the target", async () => {
  const report = await runImport();
  const [ourTeam, ourProject] = [named(await listOf("teams"), "on-call"), named(await listOf("projects"), "payments")];
  const rules = await listOf("access-rules");
  expect(named(rules, "No admins").attributes).toMatchObject({
    policy: policyFor(ourTeam.id, renamed()),
    enforcement: "approval",
    enabled: false,
  });
  expect(named(rules, "Unknown").attributes.policy).toContain("team-1234567890abcdef");
  expect(report.gaps).toEqual([
    { kind: "access-rules", thing: "Unknown", reason: expect.stringContaining("team-1234567890abcdef") },
  ]);
  const [offer] = await listOf("access-offers");
  expect(offer).toMatchObject({
    attributes: { name: "Break glass", approvals: "none", "duration-seconds-max": 3600, enabled: false },
    relationships: { "eligible-teams": { data: [{ type: "teams", id: ourTeam.id }] } },
  });
  expect(offer.attributes.changes[0].body.data.relationships).toEqual({
    project: { data: { type: "projects", id: ourProject.id } },
    team: { data: { type: "teams", id: ourTeam.id } },
  });
  expect(offer.attributes.changes[1].path).toBe(`/api/v2/teams/${ourTeam.id}/relationships/users`);
  expect(offer.attributes.changes[1].body.data[0].id).toBe("$user");
  expect(report.notes).toContainEqual(expect.stringContaining("Break glass"));
});

test("an export writes them as JSON, and its README names them", async () => {
  const to = join(folder, "files");
  const words = ["export", "--organization", org.name, "--to", to, "--public-url", "https://cadastre.example"];
  expect(await cadastre(words, settingsOf(source))).toMatchObject({ code: 0 });
  const file = (path: string) => readFileSync(join(to, path), "utf8");
  expect(JSON.parse(file("json/access-rules/No_admins.json")).attributes.enforcement).toBe("approval");
  expect(JSON.parse(file("json/access-offers/Break_glass.json")).attributes.changes).toHaveLength(2);
  expect(file("README.md")).toContain("the access rule No admins");
  expect(file("README.md")).toContain("the access offer Break glass");
});

test("a later import leaves out what a rule of the target forbids, with an audit event", async () => {
  const forbidding = {
    name: "Frozen",
    policy: 'forbid (principal, action in [Action::"grant", Action::"addMember"], resource);',
    enforcement: "forbid",
  };
  const rule = data(
    await target.admin.post(`/organizations/${renamed()}/access-rules`, resource("access-rules", forbidding)),
  );
  await source.makeTeamProject(project.id, team.id, { access: "write" });
  await source.makeMember(org.name, [team.id]);
  await source.makeMember(org.name, [team.id]);
  const report = await runImport();
  const reasons = report.gaps.filter(({ reason }: Json) => reason.includes("'Frozen' forbids"));
  expect(reasons.map(({ kind }: Json) => kind).toSorted()).toEqual(["team-members", "team-members", "team-projects"]);
  const ourProject = named(await listOf("projects"), "payments");
  expect(data(await target.admin.get(`/team-projects?filter[project][id]=${ourProject.id}`))).toEqual([]);
  const events = await target.database.reader.db
    .selectFrom("auditEvents")
    .select(["action", "after"])
    .where("subjectId", "=", rule.id)
    .where("action", "like", "%.skip%")
    .execute();
  expect(events).toHaveLength(3);
  expect(events[0]?.action).toBe("access-rules.skip-change");
});

test("an import reports the teams of an offer that were not imported", async () => {
  const policy = 'forbid (principal, action == Action::"updateTeam", resource);';
  const rule = resource("access-rules", { name: "No powers", policy, enforcement: "forbid" });
  data(await target.admin.post(`/organizations/${renamed()}/access-rules`, rule));
  const refused = await source.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
  const [stored] = data(await source.admin.get(`/organizations/${org.name}/access-offers`));
  const { changes } = stored.attributes;
  const teams = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "teams", id })) });
  const offer = resource(
    "access-offers",
    { name: "Partly imported", changes, "duration-seconds-max": 3600 },
    { "eligible-teams": teams(team.id, refused.id), "approver-teams": teams(refused.id) },
  );
  data(await source.admin.post(`/organizations/${org.name}/access-offers`, offer));
  const report = await runImport();
  const reasons = report.gaps
    .filter(({ thing }: Json) => thing === "Partly imported")
    .map(({ reason }: Json) => reason);
  expect(reasons).toEqual([
    `its eligible teams included ${refused.id}, which was not imported`,
    `its approver teams included ${refused.id}, which was not imported`,
  ]);
});
