/** Each table has one owner: the folder whose files may change it. Other folders call the owner's `writes.ts`. */
import { describe, expect, it } from "vitest";
import { triggerMaintainedTables, tablesAfter } from "../src/backup/format.ts";
import { migrations } from "../src/database/migrate.ts";
import { camel } from "../src/kernel/names.ts";
import { parseSource, readSource, sourcePaths, writesIn } from "./support/code.ts";

const owners: Readonly<Record<string, readonly string[]>> = {
  "database/migrate.ts": ["migrations"],
  "database/meta.ts": ["meta"],
  // Also written by triggers.
  "database/organization-changes.ts": ["organizationChanges"],
  // Raised by triggers.
  "database/dialect.ts": ["accessVersions"],
  jobs: ["jobs"],
  "resources/shared/audit-events": ["auditEvents"],
  "resources/identity/users": ["users"],
  "resources/identity/organizations": ["organizations"],
  "resources/identity/admin-organizations": ["moduleConsumers"],
  "resources/identity/organization-token-ttl-policies": ["organizationTokenTtlPolicies"],
  "resources/identity/organization-memberships": ["organizationMemberships"],
  "resources/identity/teams": ["teams", "teamMembers"],
  "resources/identity/authentication-tokens": ["tokens"],
  "resources/identity/sessions": ["passwords"],
  "resources/identity/identity-trusts": ["identityTrusts"],
  "resources/identity/sso-providers": ["ssoProviders", "ssoIdentities", "ssoSessions", "ssoReplies"],
  "resources/identity/invitations": ["invitations"],
  "resources/identity/authorizations": ["authorizations"],
  "resources/site/terraform-versions": ["engineVersions"],
  "resources/register/projects": ["projects"],
  "resources/register/workspaces": ["workspaces"],
  "resources/register/tags": ["tags", "workspaceTags"],
  "resources/register/tag-bindings": ["tagBindings"],
  "resources/register/reserved-tag-keys": ["reservedTagKeys"],
  "resources/register/data-retention-policies": ["dataRetentionPolicies"],
  "resources/sharing/team-access": ["teamProjects", "teamWorkspaces"],
  "resources/governance/access-offers": ["accessOffers", "accessOfferTeams"],
  "resources/variables/vars": ["vars"],
  "resources/variables/varsets": ["varsets", "varsetWorkspaces", "varsetProjects"],
  "resources/governance/access-rules": ["accessRules"],
  "resources/governance/access-violations": ["accessViolations", "accessViolationScans"],
  "resources/connections/ssh-keys": ["sshKeys"],
  "resources/connections/agent-pools": ["agentPools", "agentPoolScopes"],
  "resources/connections/agent-tokens": ["agentTokens"],
  "resources/connections/oauth-clients": ["oauthClients", "oauthClientProjects"],
  "resources/connections/oauth-tokens": ["oauthTokens"],
  "resources/state/state-versions": ["stateVersions"],
  "resources/shared/contents": ["contents", "contentChunks", "unattachedObjects"],
  "resources/runs/configuration-versions": ["configurationVersions"],
  "resources/runs/runs": ["runs"],
  "resources/runs/phases": ["runPhases", "runLogChunks"],
  "resources/runs/run-events": ["runEvents", "comments"],
  "resources/runs/run-triggers": ["runTriggers", "runTriggerFirings"],
  "resources/runs/agents": ["agents", "siteOperations"],
  "resources/runs/assessment-results": ["assessmentResults"],
  "resources/runs/identity-keys": ["identityKeys"],
  "resources/connections/site-agent-pools": ["siteAgentPools"],
  "resources/state/state-version-outputs": ["stateVersionOutputs"],
  "resources/state/resources": ["stateResources"],
  "resources/state/remote-state-consumers": ["remoteStateConsumers"],
  "resources/vcs/vcs-events": ["vcsDeliveries", "vcsEvents"],
  "resources/vcs/commit-statuses": ["vcsStatuses"],
  "resources/vcs/webhooks": ["vcsWebhooks"],
  "resources/connections/notification-configurations": [
    "notificationConfigurations",
    "notificationConfigurationMembers",
    // Unused; a later version removes it.
    "notificationConfigurationUsers",
  ],
  "resources/connections/audit-webhooks": ["auditWebhooks", "auditNotices"],
  "resources/shared/outbox": ["notices"],
  "resources/governance/access-requests": ["accessRequests", "accessRequestRequirements", "accessRequestParties"],
  moving: ["importLinks"],
};

/** Files that compute the name of the table, with the reason. */
const computing: Readonly<Record<string, string>> = {
  "backup/restore.ts": "a backup contains every table",
  "database/counts.ts": "its own counters and their differences, which no other file uses",
  "database/resealing.ts": "re-encrypts values of any table without changing them",
  "database/prepared.ts": "callers of insertRow name the table and are checked",
  "database/online-steps.ts": "a step of a migration names the table",
  "resources/identity/organizations/store.ts": "any table, once its organization is closed",
  "resources/shared/versions.ts": "callers of updateRow name the table and are checked",
  "resources/sharing/team-access/store.ts": "one of the folder's own two tables of grants",
  "resources/sharing/team-access/writes.ts": "one of the folder's own two tables of grants",
  "resources/variables/varsets/store.ts": "one of the folder's own two tables of links",
};

/** Files that write a table of another owner. This list may only shrink. */
const knownViolations: readonly string[] = [];

/** Files other than store.ts and writes.ts that contain statements that change a table. */
const otherFiles = [
  "resources/shared/contents/relocation-store.ts",
  "resources/shared/contents/unattached-objects.ts",
  "resources/shared/versions.ts",
];

/** Only for names that events mention, for uniqueness, and for what leaves closed ones out. */
const readersOfClosed = [
  "resources/identity/admin-organizations/store.ts",
  "resources/identity/organizations/store.ts",
  "resources/shared/open-organizations.ts",
];

const isOwned = (table: string, path: string) =>
  Object.entries(owners).some(
    ([owner, tables]) => tables.includes(table) && (path === owner || path.startsWith(`${owner}/`)),
  );

const found = sourcePaths
  // Migrations may change any table.
  .filter((path) => !path.startsWith("database/migrations/"))
  .flatMap((path) => writesIn(readSource(path).program).map(({ table }) => ({ table, path })));

const uniqueSorted = (lines: readonly string[]) => [...new Set(lines)].toSorted();

describe("the owners of tables", () => {
  it("are listed for every table, one each", () => {
    const stored = tablesAfter(migrations.map(({ name }) => name));
    const tables = [...stored, ...triggerMaintainedTables, "organization_changes"].map((name) => camel(name));
    const message = "add a new table to `owners` at the top of this file, under the folder whose store.ts writes it";
    expect(Object.values(owners).flat().toSorted(), message).toEqual(tables.toSorted());
  });

  it("are the only folders that change them", () => {
    const violations = found.flatMap(({ table, path }) =>
      table === undefined || isOwned(table, path) ? [] : [`${table} ← ${path}`],
    );
    expect(uniqueSorted(violations)).toEqual(knownViolations);
  });

  it("follow from the statement, except in listed files that compute the table", () => {
    const files = found.filter(({ table }) => table === undefined).map(({ path }) => path);
    expect(uniqueSorted(files)).toEqual(Object.keys(computing).toSorted());
  });

  it("keep their statements in store.ts and writes.ts", () => {
    const files = found
      .map(({ path }) => path)
      .filter((path) => path.startsWith("resources/") && !/\/(store|writes)\.ts$/.test(path));
    expect(uniqueSorted(files)).toEqual(otherFiles);
  });

  it("do not bypass the audit event check, except for re-encryption and in closed organizations", () => {
    const naming = (pattern: RegExp) => sourcePaths.filter((path) => pattern.test(readSource(path).text));
    expect(naming(/\bcommitCheck\b/).filter((path) => !/^database\/(database\.ts|engines\/)/.test(path))).toEqual([
      "database/resealing.ts",
      "jobs/run.ts",
      "resources/shared/audit-events/required.ts",
    ]);
    expect(naming(/isAudited: true/)).toEqual(["resources/identity/organizations/emptying.ts"]);
  });

  it("lets only listed files read organizations that are closed", () => {
    const reading = sourcePaths.filter(
      (path) =>
        !path.startsWith("database/migrations/") &&
        /(selectFrom|[jJ]oin)\(\[?"organizations\b(?! as o", openWithId\()|\b(from|join) organizations\b/.test(
          readSource(path).text,
        ),
    );
    expect(reading).toEqual(readersOfClosed);
  });

  it.each([
    ['tx.db.insertInto("workspaces").values(row)', ["workspaces"]],
    ['tx.db.updateTable("workspaces as w").set({})', ["workspaces"]],
    ['tx.db.deleteFrom("teamMembers")', ["teamMembers"]],
    ['updateRow(tx, "workspaces", id, {})', ["workspaces"]],
    ['insertRow(tx, "workspaces", row)', ["workspaces"]],
    ["tx.db.insertInto(table as never)", [undefined]],
    ["sql`insert into state_versions (id) values (${id})`", ["stateVersions"]],
    ["sql`UPDATE tags SET version = version + 1`", ["tags"]],
    ["sql`update tags as t set version = version + 1`", ["tags"]],
    ["sql`delete from ${sql.table(links)} where id = ${id}`", [undefined]],
    ["sql`with gone as (delete from tags returning id) update workspaces set version = 1`", ["tags", "workspaces"]],
    ["sql`select id from tags for update of tags`", []],
    ["sql`insert into tags (id) values (1) on conflict do update set id = 2`", ["tags"]],
    ['tx.db.selectFrom("workspaces")', []],
  ])("are recognized in %s", (code, tables) => {
    expect(writesIn(parseSource("a.ts", code).program).map(({ table }) => table)).toEqual(tables);
  });
});
