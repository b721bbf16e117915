/** What workspaces are connected by: SSH keys by name, agent pools with whom they serve, and version control where it is known here. */
import { agentPools } from "../../resources/connections/agent-pools/definition.ts";
import { keyReason, keyToReplace, poolReason } from "../report.ts";
import { bodyOf, linkage, relatedId, relatedIds, textOf, type Thing } from "../wire.ts";
import { type Hand, isUnmade, sendable } from "./hand.ts";

export async function bringSshKeys(hand: Hand): Promise<void> {
  const kind = "ssh-keys";
  const keys = (await hand.listThere(kind, "all", hand.there("/ssh-keys"))) ?? [];
  const shelf = await hand.shelf(hand.here("/ssh-keys"));
  for (const key of keys) {
    const name = textOf(key, "name") ?? key.id;
    const made = await hand.bring({
      kind,
      sourceId: key.id,
      label: name,
      shelf,
      make: () =>
        hand.make({ kind, label: name }, "POST", hand.here("/ssh-keys"), {
          type: kind,
          attributes: { name, value: keyToReplace(hand.peer.base) },
          required: ["name", "value"],
        }),
    });
    if (made !== undefined && isUnmade(made)) hand.report.enter(kind, name, keyReason);
  }
}

/** They serve everybody until all workspaces are here (`settleAgentPools`); nobody has a token for their agents yet. */
export async function bringAgentPools(hand: Hand): Promise<readonly Thing[]> {
  const kind = "agent-pools";
  const pools = (await hand.listThere(kind, "all", hand.there("/agent-pools"))) ?? [];
  const shelf = await hand.shelf(hand.here("/agent-pools"));
  for (const pool of pools) {
    const name = textOf(pool, "name") ?? pool.id;
    const made = await hand.bring({
      kind,
      sourceId: pool.id,
      label: name,
      shelf,
      make: () =>
        hand.make({ kind, label: name }, "POST", hand.here("/agent-pools"), {
          type: kind,
          attributes: { ...sendable(pool, agentPools), "organization-scoped": true },
        }),
    });
    if (made !== undefined && isUnmade(made)) hand.report.enter(kind, name, poolReason);
  }
  return pools;
}

const scopes = [
  ["allowed-workspaces", "workspaces"],
  ["allowed-projects", "projects"],
  ["excluded-workspaces", "workspaces"],
] as const;

/** Whom they serve, now that all are here. */
export async function settleAgentPools(hand: Hand, pools: readonly Thing[]): Promise<void> {
  for (const pool of pools) {
    const ours = hand.ours("agent-pools", pool.id);
    const named = scopes.filter(([name]) => relatedIds(pool, name).length > 0);
    if (ours === undefined || (pool.attributes["organization-scoped"] !== false && named.length === 0)) continue;
    const relationships = Object.fromEntries(
      named.map(([name, type]) => {
        const ids = relatedIds(pool, name).map((id) => hand.ours(type, id));
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
    await hand.once("agent-pool-scopes", pool.id, textOf(pool, "name") ?? pool.id, async () => {
      await hand.door.send("PATCH", `/agent-pools/${ours}`, bodyOf("agent-pools", attributes, relationships));
    });
  }
}

/** By the id of an OAuth token at the source: the token here of the connection to the same place. */
export type VersionControl = ReadonlyMap<string, string>;

/** Connections hold secrets, so none is made: what is connected here already is used. */
export async function findVersionControl(hand: Hand): Promise<VersionControl> {
  const kind = "oauth-clients";
  const clients = await hand.listIfThere(hand.there("/oauth-clients"));
  const known = new Map<string, string>();
  if (clients.length === 0) return known;
  const here = await hand.shelf(hand.here("/oauth-clients"), placeOf);
  const tokens = await hand.shelf(hand.here("/oauth-tokens"), (token) => relatedId(token, "oauth-client"));
  for (const client of clients) {
    const label = textOf(client, "name") ?? textOf(client, "service-provider") ?? client.id;
    const token = tokens.byKey.get(here.byKey.get(placeOf(client) ?? "") ?? "");
    if (token === undefined) {
      hand.report.left(
        kind,
        label,
        `its secrets can't be read; connect ${textOf(client, "http-url") ?? "it"} here, and import again: workspaces are then connected to it`,
      );
      continue;
    }
    hand.report.count(kind, "here");
    for (const id of relatedIds(client, "oauth-tokens")) known.set(id, token);
  }
  return known;
}

const placeOf = (client: Thing) =>
  `${textOf(client, "service-provider") ?? ""} ${textOf(client, "http-url") ?? ""}`.toLowerCase();
