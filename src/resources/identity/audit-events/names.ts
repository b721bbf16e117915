/** Looks up the names of resources that events mention by id; deleted resources have their last name in the log. */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import type { AuditEventView } from "./definition.ts";
import {
  parseAttributes,
  firstNameIn,
  type NamedEntity,
  parsedEvent,
  parentsIn,
  relatedOf,
  subjectNameOf,
  typeOfId,
} from "./related.ts";

interface NameSource {
  readonly from: string;
  readonly name?: string;
  readonly parent?: string;
  readonly organization?: string | null;
}

/** A phase has no name, so it is shown with its run and workspace. */
const phases: readonly NameSource[] = [
  { from: "run_phases t", parent: "t.run_id" },
  { from: "run_phases t", parent: "t.workspace_id" },
];

const sources: Readonly<Record<string, readonly NameSource[]>> = {
  users: [
    {
      from: "users t join organization_memberships m on m.user_id = t.id",
      name: "t.username",
      organization: "m.organization_id",
    },
  ],
  teams: [{ from: "teams t", name: "t.name" }],
  projects: [{ from: "projects t", name: "t.name" }],
  workspaces: [{ from: "workspaces t", name: "t.name" }],
  varsets: [{ from: "varsets t", name: "t.name" }],
  vars: [{ from: "vars t", name: "t.key", parent: "coalesce(t.workspace_id, t.varset_id)" }],
  tags: [{ from: "tags t", name: "t.name" }],
  "reserved-tag-keys": [{ from: "reserved_tag_keys t", name: "t.key" }],
  "access-rules": [{ from: "access_rules t", name: "t.name" }],
  "ssh-keys": [{ from: "ssh_keys t", name: "t.name" }],
  "agent-pools": [
    { from: "agent_pools t", name: "t.name" },
    { from: "site_agent_pools t", name: "t.name", organization: null },
  ],
  agents: [{ from: "agents t", name: "t.name", parent: "t.agent_pool_id" }],
  "oauth-clients": [{ from: "oauth_clients t", name: "coalesce(t.name, t.service_provider)" }],
  "oauth-tokens": [{ from: "oauth_tokens t", parent: "t.oauth_client_id" }],
  "notification-configurations": [
    { from: "notification_configurations t", name: "t.name", parent: "t.subscribable_id" },
  ],
  "audit-webhooks": [{ from: "audit_webhooks t", name: "t.name" }],
  "identity-trusts": [{ from: "identity_trusts t", name: "t.name", parent: "t.team_id" }],
  "access-offers": [{ from: "access_offers t", name: "t.name" }],
  "sso-providers": [{ from: "sso_providers t", name: "t.name" }],
  "organization-memberships": [
    {
      from: "organization_memberships t left join users u on u.id = t.user_id",
      name: "coalesce(u.username, t.email)",
    },
  ],
  "authentication-tokens": [
    // The descriptions of users' own tokens are private.
    { from: "tokens t", name: "t.description", parent: "coalesce(t.team_id, t.organization_id)" },
    { from: "agent_tokens t", name: "t.description", parent: "t.agent_pool_id" },
  ],
  runs: [{ from: "runs t", name: "t.message", parent: "t.workspace_id" }],
  "access-requests": [{ from: "access_requests t", name: "t.reason" }],
  comments: [{ from: "comments t join runs r on r.id = t.run_id", parent: "r.workspace_id" }],
  plans: phases,
  applies: phases,
  "state-versions": [{ from: "state_versions t", parent: "t.workspace_id" }],
  "configuration-versions": [{ from: "configuration_versions t", parent: "t.workspace_id" }],
  "assessment-results": [{ from: "assessment_results t", parent: "t.workspace_id" }],
  "data-retention-policies": [{ from: "data_retention_policies t", parent: "t.workspace_id" }],
};

type EntityNames = Map<string, NamedEntity>;

export async function withNames(
  tx: Tx,
  organization: { readonly id: string; readonly name: string },
  events: readonly AuditEventTable[],
): Promise<AuditEventView[]> {
  if (events.length === 0) return [];
  const known: EntityNames = new Map([[organization.id, { name: organization.name, parents: [], deleted: false }]]);
  const parsed = events.map(parsedEvent);
  await loadNames(tx, organization.id, new Set(parsed.flatMap(({ mentions }) => [...mentions])), known);
  await loadNames(tx, organization.id, new Set([...known.values()].flatMap(({ parents }) => parents)), known);
  return parsed.map((event) => ({
    ...event.row,
    organizationName: organization.name,
    subjectName: subjectNameOf(event, known),
    related: relatedOf(event, known),
  }));
}

type NameRow = Record<"name" | "parent" | "first" | "before" | "after" | "actor", string | null> & {
  readonly id: string;
  readonly isPresent: number;
};

async function loadNames(tx: Tx, organizationId: string, ids: ReadonlySet<string>, known: EntityNames): Promise<void> {
  const unknown = [...ids].filter((id) => !known.has(id) && typeOfId(id) !== undefined);
  const byType = Map.groupBy(unknown, (id) => typeOfId(id) ?? "");
  const parts = Object.entries(sources).flatMap(([type, from]) =>
    from.map((source) => nameQuery(tx, source, organizationId, byType.get(type) ?? [])),
  );
  const none = sql`cast(null as text)`;
  const found = await sql<NameRow>`with found (id, name, parent) as (${sql.join(parts, sql` union all `)})
    select id, name, parent, ${none} as first, ${none} as before, ${none} as after, ${none} as actor, 1 as is_present
    from found
    union all ${namesInLogQuery(tx, organizationId, unknown)}`.execute(tx.db);
  for (const { id, name, parent, first, before, after, actor, isPresent } of found.rows) {
    if (isPresent === 1) {
      const parents = [...(known.get(id)?.parents ?? []), ...(parent === null ? [] : [parent])];
      known.set(id, { name, parents, deleted: false });
      continue;
    }
    const attributes = [parseAttributes(after), parseAttributes(before), parseAttributes(first)];
    const type = typeOfId(id) ?? "";
    const lastKnownName = firstNameIn(type, attributes) ?? actor;
    known.set(id, { name: lastKnownName, parents: parentsIn(type, attributes), deleted: true });
  }
}

/** The first event of a deleted resource has its parent, the last event its last name. */
function namesInLogQuery(tx: Tx, organizationId: string, ids: readonly string[]): RawBuilder<unknown> {
  // One index lookup per subquery. A join could make the planner read the whole log.
  const firstOrLast = (
    column: string,
    by: "subject_id" | "actor_id",
    order: "asc" | "desc",
  ) => sql`(select e.${sql.raw(column)}
    from audit_events e where e.organization_id = ${organizationId} and e.${sql.raw(by)} = ids.value
    order by e.created_at ${sql.raw(order)}, e.id ${sql.raw(order)} limit 1)`;
  return sql`select ids.value, null, null, ${firstOrLast("after", "subject_id", "asc")}, ${firstOrLast("before", "subject_id", "desc")},
      ${firstOrLast("after", "subject_id", "desc")}, ${firstOrLast("actor_name", "actor_id", "desc")}, 0
    from ${tx.dialect.valuesTable(ids)} as ids where ids.value not in (select id from found)`;
}

function nameQuery(tx: Tx, source: NameSource, organizationId: string, ids: readonly string[]): RawBuilder<unknown> {
  const {
    from,
    name = "cast(null as text)",
    parent = "cast(null as text)",
    organization = "t.organization_id",
  } = source;
  const inOrganization = organization === null ? sql`true` : sql`${sql.ref(organization)} = ${organizationId}`;
  return sql`select t.id as id, ${sql.raw(name)} as name, ${sql.raw(parent)} as parent from ${sql.raw(from)}
    where ${tx.dialect.isOneOf(sql.ref("t.id"), ids)} and ${inOrganization}`;
}
