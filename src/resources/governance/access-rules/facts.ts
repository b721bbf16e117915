/** Loads the entities that changes of access name, in one statement however many there are. */
import type { EntityJson, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";

export interface FactReferences {
  readonly organizationId: string;
  readonly userIds: readonly string[];
  readonly teamIds: readonly string[];
  readonly projectIds: readonly string[];
  readonly workspaceIds: readonly string[];
}

/** By id; of the organization, by its id, although Cedar knows it by its name. */
export type RuleFacts = ReadonlyMap<string, EntityJson>;

interface FactRow {
  readonly kind: "organizations" | "users" | "teams" | "projects" | "workspaces" | "tags";
  readonly id: string;
  readonly name: string;
  /** A user's email, a workspace's project, a tag's value. */
  readonly other: string | null;
  readonly isSiteAdmin: number | null;
}

export async function loadFacts(tx: Tx, references: FactReferences): Promise<RuleFacts> {
  const { organizationId, userIds, teamIds, projectIds, workspaceIds } = references;
  const { isOneOf, valuesTable } = tx.dialect;
  const [text, number] = [sql`cast(null as text)`, sql`cast(null as bigint)`];
  const ofWorkspaces = sql`w.organization_id = ${organizationId} and ${isOneOf(sql.ref("w.id"), workspaceIds)}`;
  const projects = sql`(select value from ${valuesTable(projectIds)} as named
    union select w.project_id from workspaces as w where ${ofWorkspaces})`;
  const { rows } = await sql<FactRow>`
    select 'organizations' as kind, id, name, ${text} as other, ${number} as is_site_admin
      from open_organizations where id = ${organizationId}
    union all select 'users', id, username, email, is_site_admin from users where ${isOneOf(sql.ref("id"), userIds)}
    union all select 'teams', id, name, ${text}, ${number} from teams
      where organization_id = ${organizationId} and ${isOneOf(sql.ref("id"), teamIds)}
    union all select 'projects', id, name, ${text}, ${number} from projects
      where organization_id = ${organizationId} and id in ${projects}
    union all select 'workspaces', w.id, w.name, w.project_id, ${number} from workspaces as w where ${ofWorkspaces}
    union all select 'tags', b.project_id, b.key, b.value, ${number} from tag_bindings as b
      where b.organization_id = ${organizationId} and b.project_id in ${projects}
    union all select 'tags', b.workspace_id, b.key, b.value, ${number} from tag_bindings as b
      where b.organization_id = ${organizationId} and ${isOneOf(sql.ref("b.workspaceId"), workspaceIds)}`.execute(
    tx.db,
  );
  return entitiesOf(rows);
}

function entitiesOf(rows: readonly FactRow[]): RuleFacts {
  const tags = new Map<string, [string, string][]>();
  for (const { kind, id, name, other } of rows) {
    if (kind !== "tags") continue;
    const known = tags.get(id);
    if (known === undefined) tags.set(id, [[name, other ?? ""]]);
    else known.push([name, other ?? ""]);
  }
  const organization = rows.find(({ kind }) => kind === "organizations");
  const parent = { type: "Organization", id: organization?.name ?? "" };
  return new Map(rows.filter(({ kind }) => kind !== "tags").map((row) => [row.id, entityOf(row, parent, tags)]));
}

function entityOf(
  { kind, id, name, other, isSiteAdmin }: FactRow,
  organization: TypeAndId,
  tags: ReadonlyMap<string, readonly (readonly [string, string])[]>,
): EntityJson {
  const tagsOf = (...owners: readonly string[]) => Object.fromEntries(owners.flatMap((owner) => tags.get(owner) ?? []));
  switch (kind) {
    case "users":
      return {
        uid: { type: "User", id },
        attrs: { username: name, email: other ?? "", isSiteAdmin: isSiteAdmin === 1 },
        parents: [],
      };
    case "teams":
      return { uid: { type: "Team", id }, attrs: { name }, parents: [] };
    case "projects":
      return { uid: { type: "Project", id }, attrs: { name }, parents: [organization], tags: tagsOf(id) };
    case "workspaces": {
      const project = { type: "Project", id: other ?? "" };
      // A workspace's own value of a key replaces its project's.
      return {
        uid: { type: "Workspace", id },
        attrs: { name, project: { __entity: project } },
        parents: [project],
        tags: tagsOf(project.id, id),
      };
    }
    default:
      return { uid: organization, attrs: { name }, parents: [] };
  }
}
