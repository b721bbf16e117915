/** Pure rules of the names in an event: which things it mentions by id, and what they are called. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import { idPrefixes } from "../../../kernel/ids.ts";

export interface Related {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly deleted: boolean;
}

/** What is known of a thing: its name, and the ids of what it belongs to, such as a run's workspace. */
export interface Known {
  readonly name: string | null;
  readonly parents: readonly string[];
  /** Only the log knows it: it is no longer there. */
  readonly deleted: boolean;
}

/** An event of a large move mentions thousands of workspaces; the facts of a move have their names already. */
const mentionsMax = 20;

const typesByPrefix: ReadonlyMap<string, string> = new Map(
  // Tokens of agents have a prefix of their own; in the log all tokens have one type.
  Object.entries(idPrefixes).map(([type, prefix]) => [
    prefix,
    type === "agent-tokens" ? "authentication-tokens" : type,
  ]),
);
const idShape = /^([a-z]+)-[0-9A-Za-z]{16}$/;

/** The type of thing that an id belongs to; undefined for a text that is no id of ours. */
export const typeOfId = (text: string): string | undefined => typesByPrefix.get(idShape.exec(text)?.[1] ?? "");

export type Facts = Readonly<Record<string, unknown>> | null;
export const factsIn = (json: string | null): Facts => (json === null ? null : (JSON.parse(json) as Facts));

/** The attributes that hold ids. An id in any other, such as a description or a claim of a foreign token, is text that somebody wrote. */
const references = [
  "team",
  "workspace",
  "workspaces",
  "varset",
  "teams",
  "project",
  "projects",
  "run",
  "holder",
  "subscribable",
  "users",
  "grants",
  "members",
  "locked-by",
  "ssh-key",
  "agent-pool",
  "default-agent-pool",
  "allowed-workspaces",
  "allowed-projects",
  "excluded-workspaces",
  "remote-state-consumers",
  "sourceable",
  "oauth-client",
  "token",
  "managed-by",
];
/** The same within a list of objects: workspaces that move, members and grants of a team. */
const listedReferences = ["id", "team", "project", "workspace", "membership"];

/** Ids in an event's facts, in the order of `keys`. */
function idsIn(facts: Facts, keys: readonly string[] = references, max = mentionsMax): string[] {
  const values = keys.flatMap((key) => facts?.[key] ?? []).slice(0, max);
  const ids = values.flatMap((value) =>
    typeof value === "object" && value !== null
      ? listedReferences.map((key) => (value as Record<string, unknown>)[key])
      : [value],
  );
  return [...new Set(ids.filter((id) => typeof id === "string" && typeOfId(id) !== undefined) as string[])].slice(
    0,
    max,
  );
}

/** The attributes that say what a thing of a type belongs to, for when its row is gone. */
const parentReferences: Readonly<Record<string, readonly string[]>> = {
  vars: ["workspace", "varset"],
  "notification-configurations": ["subscribable"],
  "identity-trusts": ["team"],
  "oauth-tokens": ["oauth-client"],
  "authentication-tokens": ["holder"],
  comments: ["run"],
  runs: ["workspace"],
  "state-versions": ["workspace"],
  "configuration-versions": ["workspace"],
  "assessment-results": ["workspace"],
  "data-retention-policies": ["workspace"],
};

export const parentsIn = (type: string, facts: readonly Facts[]): string[] => [
  ...new Set(facts.flatMap((each) => idsIn(each, parentReferences[type] ?? []))),
];

/** An event with its facts parsed once: those of a large move take megabytes. */
export interface ParsedEvent {
  readonly row: AuditEventTable;
  readonly facts: readonly Facts[];
  /** Everything that it mentions by id: its subject, the token, and what is in its facts. */
  readonly mentions: ReadonlySet<string>;
}

export function parsedEvent(row: AuditEventTable): ParsedEvent {
  const facts = [factsIn(row.after), factsIn(row.before)];
  const token = row.tokenId === null ? [] : [row.tokenId];
  return { row, facts, mentions: new Set([row.subjectId, ...token, ...facts.flatMap((each) => idsIn(each))]) };
}

/** The attributes that name a thing of a type, where that is not `name`, the best first; none for types that have no name. */
const namingAttributes: Readonly<Record<string, readonly string[]>> = {
  users: ["username"],
  vars: ["key"],
  "reserved-tag-keys": ["key"],
  "organization-memberships": ["username", "email"],
  "authentication-tokens": ["description"],
  "terraform-versions": ["version"],
  runs: ["message"],
  comments: [],
  "state-versions": [],
  "configuration-versions": [],
};

/** What a thing of this type is called, as facts about it say. */
function nameIn(type: string, facts: Facts): string | null {
  const names = (namingAttributes[type] ?? ["name"]).map((attribute) => facts?.[attribute]);
  return (names.find((name) => typeof name === "string" && name !== "") as string | undefined) ?? null;
}

/** The first name that any of these facts has. */
export const firstNameIn = (type: string, facts: readonly Facts[]): string | null =>
  facts.map((each) => nameIn(type, each)).find((name) => name !== null) ?? null;

/** What the event itself calls its subject comes first: that was its name at the time. */
export const subjectNameOf = ({ row, facts }: ParsedEvent, known: ReadonlyMap<string, Known>): string | null =>
  firstNameIn(row.subjectType, facts) ?? known.get(row.subjectId)?.name ?? null;

/** The named things that an event mentions: its subject, what that belongs to, then all others with what they belong to. */
export function relatedOf(event: ParsedEvent, known: ReadonlyMap<string, Known>): Related[] {
  const { row, mentions } = event;
  const parentsOf = (id: string) => known.get(id)?.parents ?? [];
  // Whom the token belongs to says nothing of what the event is about.
  const others = [...mentions].filter((id) => id !== row.tokenId);
  const ids = new Set([row.subjectId, ...parentsOf(row.subjectId), ...mentions, ...others.flatMap(parentsOf)]);
  return [...ids].flatMap((id) => {
    const { name: nameNow, deleted = true } = known.get(id) ?? {};
    const name = id === row.subjectId ? subjectNameOf(event, known) : nameNow;
    return name ? [{ type: typeOfId(id) ?? row.subjectType, id, name, deleted }] : [];
  });
}
