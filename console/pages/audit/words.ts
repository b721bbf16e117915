/** Words for the parts of an event: types, names, times and changed attributes. */
import type { Resources } from "../../api/schema.gen.ts";
import { paths } from "../../paths.ts";
import { serverNow } from "../../now.ts";

export type Event = { readonly id: string; readonly attributes: Resources["audit-events"]["attributes"] };

const kinds: Readonly<Record<string, string>> = {
  vars: "variable",
  varsets: "variable set",
  "authentication-tokens": "token",
  "organization-memberships": "membership",
  "organization-token-ttl-policies": "token lifetime policy",
  "data-retention-policies": "retention policy",
  "oauth-clients": "connection",
  "oauth-tokens": "connection token",
  "notification-configurations": "notification",
  "ssh-keys": "SSH key",
  "sso-providers": "SSO provider",
  "team-projects": "project access",
  "team-workspaces": "workspace access",
  "terraform-versions": "engine version",
  "assessment-results": "health assessment",
};

export const kindOf = (type: string): string =>
  kinds[type] ??
  type
    .replace(/ies$/, "y")
    .replace(/(?<!s)s$/, "")
    .replaceAll("-", " ");

/** Background jobs and the CLI act as the operator. */
export const actorOf = ({ attributes }: Event): string =>
  attributes["actor-kind"] === "operator" ? "System" : attributes["actor-name"];

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayAndHour = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const yearToo = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

export function timeOf(instant: string, now = serverNow()): string {
  const [time, today] = [new Date(instant), new Date(now)];
  if (time.toDateString() === today.toDateString()) return hour.format(time);
  return (time.getFullYear() === today.getFullYear() ? dayAndHour : yearToo).format(time);
}

const dayMs = 86_400_000;
const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
export const spanOf = (ms: number): string =>
  ms < dayMs ? countOf(Math.round(ms / 60_000), "minute") : countOf(Math.round(ms / dayMs), "day");

export type RelatedResource = Resources["audit-events"]["attributes"]["related"][number];

export function pageOf(organization: string, { type, id, name }: RelatedResource): string | undefined {
  const pages: Record<string, string | undefined> = {
    workspaces: paths.workspace(organization, name),
    projects: paths.project(organization, id),
    teams: paths.team(organization, id),
    varsets: paths.variableSet(organization, id),
    "agent-pools": paths.agentPool(organization, id),
    "access-requests": paths.accessRequest(organization, id),
  };
  return pages[type];
}

export interface AttributeDiff {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === "string" ? value : JSON.stringify(value);

/** All attributes of a created or deleted resource. Ids are shown with their names. */
export function changesOf({ attributes: { before, after, related } }: Event): AttributeDiff[] {
  const [old, now] = [before, after] as (Record<string, unknown> | null)[];
  const byId = new Map(related.map(({ id, name }) => [id, name]));
  const named = (value: unknown) => {
    const text = textOf(value);
    const name = text === undefined ? undefined : byId.get(text);
    return name === undefined ? text : `${name} (${text})`;
  };
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])];
  return names
    .map((name) => ({ name, before: named(old?.[name]), after: named(now?.[name]) }))
    .filter((change) => change.before !== change.after && change.name !== "updated-at");
}
