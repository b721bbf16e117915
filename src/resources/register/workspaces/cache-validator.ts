/** The cache validator of a workspace's document: the versions of every row that it depends on, and of the caller's access. */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { CacheValidator } from "../../../jsonapi/cache-validator.ts";
import { fold } from "../../../kernel/text.ts";
import { type KnownToken, tokenAuthenticator } from "../../identity/authentication-tokens/reads.ts";
import type { WorkspaceReference } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

/** Must produce the same string as `cacheVersionOf`. */
const cacheVersionSql = sql`w.id || '/' || w.version || '/' || o.version || '/' || p.defaults_version || '/'
  || coalesce(p.auto_destroy_activity_duration, '') || '/' || a.version`;
const cacheVersionOf = (view: WorkspaceView): string =>
  [
    view.id,
    view.version,
    view.organizationVersion,
    view.projectDefaultsVersion,
    view.projectDuration ?? "",
    view.accessVersion,
  ].join("/");

const cacheVersionWhere = (condition: RawBuilder<unknown>): RawBuilder<string | null> => sql<string | null>`(
  select ${cacheVersionSql} from workspaces as w
  inner join open_organizations as o on o.id = w.organization_id
  inner join projects as p on p.id = w.project_id
  inner join access_versions as a on a.organization_id = w.organization_id
  where ${condition})`;

const byId = tokenAuthenticator<{ id: string }>(({ id }) => cacheVersionWhere(sql`w.id = ${id}`));
const byName = tokenAuthenticator<{ organizationKey: string; name: string }>(({ organizationKey, name }) =>
  cacheVersionWhere(sql`o.name_key = ${organizationKey} and w.name = ${name}`),
);

export function workspaceValidator(tx: Tx, reference: WorkspaceReference, view: WorkspaceView): CacheValidator {
  const version = cacheVersionOf(view);
  if ("workspaceId" in reference) {
    const { workspaceId: id } = reference;
    return { version, read: (known: KnownToken) => byId(tx, known.tokenHash, known, { id }) };
  }
  const names = { organizationKey: fold(reference.organizationName), name: reference.workspaceName };
  return { version, read: (known: KnownToken) => byName(tx, known.tokenHash, known, names) };
}
