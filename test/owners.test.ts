/** Each table has one owner: the folder whose files may change it. Others have it changed by the owner's `writes.ts`. */
import { describe, expect, it } from "vitest";
import { triggerMaintainedTables, tablesAfter } from "../src/backup/format.ts";
import { migrations } from "../src/database/migrate.ts";
import { camel } from "../src/kernel/names.ts";
import { parsed, readSource, sourcePaths, writesIn } from "./support/code.ts";

const owners: Readonly<Record<string, readonly string[]>> = {
  "database/migrate.ts": ["migrations"],
  "database/meta.ts": ["meta"],
  // The triggers that raise it.
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
  "resources/variables/vars": ["vars"],
  "resources/variables/varsets": ["varsets", "varsetWorkspaces", "varsetProjects"],
  "resources/connections/ssh-keys": ["sshKeys"],
  "resources/connections/agent-pools": ["agentPools", "agentPoolScopes"],
  "resources/connections/agent-tokens": ["agentTokens"],
  "resources/connections/oauth-clients": ["oauthClients", "oauthClientProjects"],
  "resources/connections/oauth-tokens": ["oauthTokens"],
  "resources/state/state-versions": ["stateVersions"],
  "resources/shared/contents": ["contents", "contentChunks"],
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
    // Nobody's any more; a later version removes it.
    "notificationConfigurationUsers",
  ],
  "resources/connections/audit-webhooks": ["auditWebhooks", "auditNotices"],
  "resources/shared/outbox": ["notices"],
  moving: ["importLinks"],
};

/** Files in which the running program chooses the table, and why that is right. */
const choosing: Readonly<Record<string, string>> = {
  "backup/restore.ts": "a backup holds every table",
  "database/counts.ts": "its own counters and their differences, which no other file knows",
  "database/resealing.ts": "sealed values of any table come under another key, and stay what they are",
  "database/prepared.ts": "whoever calls insertRow names the table, and is found by that",
  "resources/shared/versions.ts": "whoever calls updateRow names the table, and is found by that",
  "resources/sharing/team-access/store.ts": "one of the two tables of records, both the folder's own",
  "resources/sharing/team-access/writes.ts": "one of the two tables of records, both the folder's own",
  "resources/variables/varsets/store.ts": "one of the two tables of links, both the folder's own",
};

/** Who writes another's table today. This list only shrinks. */
const strangersToday: readonly string[] = [];

/** The one file that holds a statement that changes a table, though its name does not tell. */
const elsewhere = ["resources/shared/versions.ts"];

const owned = (table: string, path: string) =>
  Object.entries(owners).some(
    ([owner, tables]) => tables.includes(table) && (path === owner || path.startsWith(`${owner}/`)),
  );

const found = sourcePaths
  // A migration changes whatever it is about; released ones are never touched again.
  .filter((path) => !path.startsWith("database/migrations/"))
  .flatMap((path) => writesIn(readSource(path).program).map(({ table }) => ({ table, path })));

const told = (lines: readonly string[]) => [...new Set(lines)].toSorted();

describe("the owners of tables", () => {
  it("are known for every table, one for each", () => {
    const stored = tablesAfter(migrations.map(({ name }) => name));
    const tables = [...stored, ...triggerMaintainedTables].map((name) => camel(name));
    const message = "add a new table to `owners` at the top of this file, under the folder whose store.ts writes it";
    expect(Object.values(owners).flat().toSorted(), message).toEqual(tables.toSorted());
  });

  it("are the only ones who change them", () => {
    const strangers = found.flatMap(({ table, path }) =>
      table === undefined || owned(table, path) ? [] : [`${table} ← ${path}`],
    );
    expect(told(strangers)).toEqual(strangersToday);
  });

  it("are told by the statement, but where a file is known to choose the table", () => {
    const files = found.filter(({ table }) => table === undefined).map(({ path }) => path);
    expect(told(files)).toEqual(Object.keys(choosing).toSorted());
  });

  it("keep the statements in files whose name says so", () => {
    const files = found
      .map(({ path }) => path)
      .filter((path) => path.startsWith("resources/") && !/\/(store|writes)\.ts$/.test(path));
    expect(told(files)).toEqual(elsewhere);
  });

  it("leave the check of the audit events alone, but for what changes no meaning", () => {
    const naming = sourcePaths.filter(
      (path) => /\bcommitCheck\b/.test(readSource(path).text) && !/^database\/(database\.ts|engines\/)/.test(path),
    );
    expect(naming).toEqual(["database/resealing.ts", "resources/shared/audit-events/required.ts"]);
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
  ])("are found in %s", (code, tables) => {
    expect(writesIn(parsed("a.ts", code).program).map(({ table }) => table)).toEqual(tables);
  });
});
