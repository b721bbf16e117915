/** Imports SSH keys (without values) and agent pools, and matches the VCS connections of the source to those here. */
import { agentPools } from "../../resources/connections/agent-pools/definition.ts";
import { keyReason, placeholderKey, poolReason } from "../report.ts";
import { bodyOf, linkage, relatedId, relatedIds, textOf, type WireResource } from "../wire.ts";
import { type Importer, isPlaceholder, writableAttributes } from "./importer.ts";

export async function importSshKeys(importer: Importer): Promise<void> {
  const kind = "ssh-keys";
  const keys = (await importer.listSource(kind, "all", importer.sourcePath("/ssh-keys"))) ?? [];
  const existing = await importer.listExisting(importer.localPath("/ssh-keys"));
  for (const key of keys) {
    const name = textOf(key, "name") ?? key.id;
    const created = await importer.importOne({
      kind,
      sourceId: key.id,
      label: name,
      existing,
      create: () =>
        importer.create({ kind, label: name }, "POST", importer.localPath("/ssh-keys"), {
          type: kind,
          attributes: { name, value: placeholderKey(importer.source.base) },
          required: ["name", "value"],
        }),
    });
    if (created !== undefined && isPlaceholder(created)) importer.report.addMissingSecret(kind, name, keyReason);
  }
}

/** Pools are organization-scoped until all workspaces exist (`restrictAgentPools`). */
export async function importAgentPools(importer: Importer): Promise<readonly WireResource[]> {
  const kind = "agent-pools";
  const pools = (await importer.listSource(kind, "all", importer.sourcePath("/agent-pools"))) ?? [];
  const existing = await importer.listExisting(importer.localPath("/agent-pools"));
  for (const pool of pools) {
    const name = textOf(pool, "name") ?? pool.id;
    const created = await importer.importOne({
      kind,
      sourceId: pool.id,
      label: name,
      existing,
      create: () =>
        importer.create({ kind, label: name }, "POST", importer.localPath("/agent-pools"), {
          type: kind,
          attributes: { ...writableAttributes(pool, agentPools), "organization-scoped": true },
        }),
    });
    if (created !== undefined && isPlaceholder(created)) importer.report.addMissingSecret(kind, name, poolReason);
  }
  return pools;
}

const scopes = [
  ["allowed-workspaces", "workspaces"],
  ["allowed-projects", "projects"],
  ["excluded-workspaces", "workspaces"],
] as const;

export async function restrictAgentPools(importer: Importer, pools: readonly WireResource[]): Promise<void> {
  for (const pool of pools) {
    const localId = importer.localIdOf("agent-pools", pool.id);
    const named = scopes.filter(([name]) => relatedIds(pool, name).length > 0);
    if (localId === undefined || (pool.attributes["organization-scoped"] !== false && named.length === 0)) continue;
    const relationships = Object.fromEntries(
      named.map(([name, type]) => {
        const ids = relatedIds(pool, name).map((id) => importer.localIdOf(type, id));
        return [
          name,
          linkage(
            type,
            ids.filter((id) => id !== undefined),
          ),
        ];
      }),
    );
    const attributes = { "organization-scoped": pool.attributes["organization-scoped"] !== false };
    await importer.runOnce("agent-pool-scopes", pool.id, textOf(pool, "name") ?? pool.id, async () => {
      await importer.api.send("PATCH", `/agent-pools/${localId}`, bodyOf("agent-pools", attributes, relationships));
    });
  }
}

/** The key is the OAuth token's id at the source. */
export type VcsTokenMap = ReadonlyMap<string, string>;

/** VCS connections contain secrets, so the import only uses existing ones to the same host. */
export async function findVcsTokens(importer: Importer): Promise<VcsTokenMap> {
  const kind = "oauth-clients";
  const clients = await importer.listSourceIfAny(importer.sourcePath("/oauth-clients"));
  const known = new Map<string, string>();
  if (clients.length === 0) return known;
  const existing = await importer.listExisting(importer.localPath("/oauth-clients"), connectionKey);
  const tokens = await importer.listExisting(importer.localPath("/oauth-tokens"), (token) =>
    relatedId(token, "oauth-client"),
  );
  for (const client of clients) {
    const label = textOf(client, "name") ?? textOf(client, "service-provider") ?? client.id;
    const token = tokens.byKey.get(existing.byKey.get(connectionKey(client) ?? "") ?? "");
    if (token === undefined) {
      importer.report.skip(
        kind,
        label,
        `its secrets can't be read; connect ${textOf(client, "http-url") ?? "it"} on this server and import again to connect the workspaces`,
      );
      continue;
    }
    importer.report.count(kind, "existing");
    for (const id of relatedIds(client, "oauth-tokens")) known.set(id, token);
  }
  return known;
}

const connectionKey = (client: WireResource) =>
  `${textOf(client, "service-provider") ?? ""} ${textOf(client, "http-url") ?? ""}`.toLowerCase();
