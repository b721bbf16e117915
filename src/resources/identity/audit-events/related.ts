/** Pure rules of the names in an event: which things it mentions by id, and what they are called. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import { idPrefixes } from "../../../kernel/ids.ts";

export interface Related {
  readonly type: string;
  readonly id: string;
  readonly name: string;
}

/** What is known of a thing: its name, and the ids of what it belongs to, such as a run's workspace. */
export interface Known {
  readonly name: string | null;
  readonly parents: readonly string[];
}

/** An event of a large move mentions thousands of workspaces; the facts of a move have their names already. */
const mentionsMax = 20;

const typesByPrefix: ReadonlyMap<string, string> = new Map(
  Object.entries(idPrefixes).map(([type, prefix]) => [prefix, type]),
);
const idShape = /^([a-z]+)-[0-9A-Za-z]{16}$/;

/** The type of thing that an id belongs to; undefined for a text that is no id of ours. */
export const typeOfId = (text: string): string | undefined => typesByPrefix.get(idShape.exec(text)?.[1] ?? "");

export type Facts = Readonly<Record<string, unknown>> | null;
export const factsIn = (json: string | null): Facts => (json === null ? null : (JSON.parse(json) as Facts));

/** Ids in an event's facts, in their order. Without recursion: claims of a foreign token may be nested to any depth. */
export function idsIn(facts: Facts, max = mentionsMax): string[] {
  const ids = new Set<string>();
  const rest: unknown[] = [facts];
  while (rest.length > 0 && ids.size < max) {
    const value = rest.pop();
    if (typeof value === "string") {
      if (typeOfId(value) !== undefined) ids.add(value);
    } else if (Array.isArray(value)) {
      rest.push(...value.slice(0, max).toReversed());
    } else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value).toReversed()) rest.push(inner, key);
    }
  }
  return [...ids];
}

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

/** The attribute that names a thing of a type, where that is not `name`; null for types that have no name. */
const namingAttributes: Readonly<Record<string, string | null>> = {
  users: "username",
  vars: "key",
  "reserved-tag-keys": "key",
  "organization-memberships": "email",
  "authentication-tokens": "description",
  "terraform-versions": "version",
  runs: "message",
  comments: null,
  "state-versions": null,
  "configuration-versions": null,
};

/** What a thing of this type is called, as facts about it say. */
function nameIn(type: string, facts: Facts): string | null {
  const attribute = namingAttributes[type] === undefined ? "name" : namingAttributes[type];
  const name = attribute === null ? null : facts?.[attribute];
  return typeof name === "string" && name !== "" ? name : null;
}

/** The first name that any of these facts has. */
export const firstNameIn = (type: string, facts: readonly Facts[]): string | null =>
  facts.map((each) => nameIn(type, each)).find((name) => name !== null) ?? null;

/** What the event itself calls its subject comes first: that was its name at the time. */
export const subjectNameOf = ({ row, facts }: ParsedEvent, known: ReadonlyMap<string, Known>): string | null =>
  firstNameIn(row.subjectType, facts) ?? known.get(row.subjectId)?.name ?? null;

/** The named things that an event mentions, and those that they belong to. */
export function relatedOf(event: ParsedEvent, known: ReadonlyMap<string, Known>): Related[] {
  const { row, mentions } = event;
  const ids = new Set([...mentions, ...[...mentions].flatMap((id) => known.get(id)?.parents ?? [])]);
  return [...ids].flatMap((id) => {
    const name = id === row.subjectId ? subjectNameOf(event, known) : known.get(id)?.name;
    return name ? [{ type: typeOfId(id) ?? row.subjectType, id, name }] : [];
  });
}
