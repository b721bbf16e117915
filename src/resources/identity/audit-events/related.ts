/** Pure rules for names in audit events. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import { idPrefixes } from "../../../kernel/ids.ts";

export interface RelatedEntity {
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly deleted: boolean;
}

export interface NamedEntity {
  readonly name: string | null;
  readonly parents: readonly string[];
  readonly deleted: boolean;
}

/** Events of large moves mention thousands of workspaces, with their names. */
const mentionsMax = 20;

const typesByPrefix: ReadonlyMap<string, string> = new Map(
  // Agent tokens have their own id prefix, but the log has one type for all tokens.
  Object.entries(idPrefixes).map(([type, prefix]) => [
    prefix,
    type === "agent-tokens" ? "authentication-tokens" : type,
  ]),
);
const idShape = /^([a-z]+)-[0-9A-Za-z]{16}$/;

export const typeOfId = (text: string): string | undefined => typesByPrefix.get(idShape.exec(text)?.[1] ?? "");

export type AuditedAttributes = Readonly<Record<string, unknown>> | null;
export const parseAttributes = (json: string | null): AuditedAttributes =>
  json === null ? null : (JSON.parse(json) as AuditedAttributes);

/** Attributes that contain ids. All others, such as descriptions or claims, are free text. */
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
  "requester",
  "offer",
];
const listedReferences = ["id", "team", "project", "workspace", "membership"];

function idsIn(attributes: AuditedAttributes, keys: readonly string[] = references, max = mentionsMax): string[] {
  const values = keys.flatMap((key) => attributes?.[key] ?? []).slice(0, max);
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

export const parentsIn = (type: string, attributes: readonly AuditedAttributes[]): string[] => [
  ...new Set(attributes.flatMap((each) => idsIn(each, parentReferences[type] ?? []))),
];

/** Parsed once, because the attributes of a large move take megabytes. */
export interface ParsedEvent {
  readonly row: AuditEventTable;
  readonly attributes: readonly AuditedAttributes[];
  readonly mentions: ReadonlySet<string>;
}

export function parsedEvent(row: AuditEventTable): ParsedEvent {
  const attributes = [parseAttributes(row.after), parseAttributes(row.before)];
  const token = row.tokenId === null ? [] : [row.tokenId];
  const request = row.accessRequestId === null ? [] : [row.accessRequestId];
  const mentions = new Set([row.subjectId, ...token, ...request, ...attributes.flatMap((each) => idsIn(each))]);
  return { row, attributes, mentions };
}

/** Best first. Empty for types without names. */
const namingAttributes: Readonly<Record<string, readonly string[]>> = {
  users: ["username"],
  vars: ["key"],
  "reserved-tag-keys": ["key"],
  "organization-memberships": ["username", "email"],
  "authentication-tokens": ["description"],
  "terraform-versions": ["version"],
  runs: ["message"],
  "access-requests": ["reason"],
  comments: [],
  "state-versions": [],
  "configuration-versions": [],
};

function nameIn(type: string, attributes: AuditedAttributes): string | null {
  const names = (namingAttributes[type] ?? ["name"]).map((attribute) => attributes?.[attribute]);
  return (names.find((name) => typeof name === "string" && name !== "") as string | undefined) ?? null;
}

export const firstNameIn = (type: string, attributes: readonly AuditedAttributes[]): string | null =>
  attributes.map((each) => nameIn(type, each)).find((name) => name !== null) ?? null;

/** Prefers the event's own name, which is the name at that time. */
export const subjectNameOf = (
  { row, attributes }: ParsedEvent,
  known: ReadonlyMap<string, NamedEntity>,
): string | null => firstNameIn(row.subjectType, attributes) ?? known.get(row.subjectId)?.name ?? null;

export function relatedOf(event: ParsedEvent, known: ReadonlyMap<string, NamedEntity>): RelatedEntity[] {
  const { row, mentions } = event;
  const parentsOf = (id: string) => known.get(id)?.parents ?? [];
  // The owner of the token says nothing about the subject of the event.
  const others = [...mentions].filter((id) => id !== row.tokenId);
  const ids = new Set([row.subjectId, ...parentsOf(row.subjectId), ...mentions, ...others.flatMap(parentsOf)]);
  return [...ids].flatMap((id) => {
    const { name: nameNow, deleted = true } = known.get(id) ?? {};
    const name = id === row.subjectId ? subjectNameOf(event, known) : nameNow;
    return name ? [{ type: typeOfId(id) ?? row.subjectType, id, name, deleted }] : [];
  });
}
