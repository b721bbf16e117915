/** An event of the trail in words: who did what to which thing, and what is other than before. */
import type { Attributes } from "../../api/client.ts";
import { paths } from "../../paths.ts";

export type Event = { readonly id: string; readonly attributes: Attributes<"audit-events"> };

const verbs: Readonly<Record<string, string>> = {
  create: "made",
  update: "changed",
  delete: "deleted",
  lock: "locked",
  unlock: "unlocked",
  "force-unlock": "unlocked by force",
  "renew-lock": "renewed the lock of",
  "add-members": "added members to",
  "remove-members": "removed members from",
  "add-tags": "tagged",
  "bind-tags": "tagged",
  "remove-tags": "took tags from",
  "move-workspaces": "moved workspaces to",
  "set-password": "set the password of",
  upload: "sent the content of",
  apply: "applied",
  discard: "discarded",
  cancel: "cancelled",
  "force-cancel": "cancelled by force",
  claim: "took on",
  "phase-finished": "finished a phase of",
  "phase-errored": "failed in a phase of",
  "phase-returned": "gave back",
};

export const verbOf = (action: string): string => {
  const verb = action.slice(action.indexOf(".") + 1);
  return verbs[verb] ?? verb.replaceAll("-", " ");
};

/** Where people say another word than the API. */
const kinds: Readonly<Record<string, string>> = {
  vars: "variable",
  varsets: "variable set",
  "authentication-tokens": "token",
  "organization-memberships": "membership",
  "oauth-clients": "connection",
  "oauth-tokens": "token of a connection",
  "notification-configurations": "notification",
  "ssh-keys": "SSH key",
  "team-projects": "access to a project",
  "team-workspaces": "access to a workspace",
};

/** "workspace", of `workspaces`. */
export const kindOf = (type: string): string =>
  kinds[type] ??
  type
    .replace(/ies$/, "y")
    .replace(/(?<!s)s$/, "")
    .replaceAll("-", " ");

const naming = ["name", "username", "key", "email", "description", "message"];
/** These have a name: what else is said of them is none. */
const named = ["organizations", "projects", "teams", "varsets", "workspaces"];

/** What the thing is called, as the event itself has it. */
export function ownNameOf({ attributes: { before, after, "subject-type": type } }: Event): string | undefined {
  for (const facts of [after, before])
    for (const name of named.includes(type) ? ["name"] : naming) {
      const value = (facts as Record<string, unknown> | null)?.[name];
      if (typeof value === "string" && value !== "") return value;
    }
  return undefined;
}

/** Names by id, for events that don't say them: a lock has a reason, and not the name of what is locked. */
export type Names = ReadonlyMap<string, string>;

/** What the thing was called at the time; else what it is called now, or was in another event; else its id. */
export const nameOf = (event: Event, names: Names): string =>
  ownNameOf(event) ?? names.get(event.attributes["subject-id"]) ?? event.attributes["subject-id"];

/** Where the thing is shown, if it has a page and is still there. */
export function pageOf(organization: string, event: Event, names: Names): string | undefined {
  const { "subject-type": type, "subject-id": id, action } = event.attributes;
  const name = nameOf(event, names);
  if (action.endsWith(".delete")) return undefined;
  if (type === "workspaces") return name === id ? undefined : paths.workspace(organization, name);
  const pages: Record<string, ((organization: string, id: string) => string) | undefined> = {
    projects: paths.project,
    teams: paths.team,
    varsets: paths.variableSet,
    "agent-pools": paths.agentPool,
  };
  return pages[type]?.(organization, id);
}

export interface Change {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === "string" ? value : JSON.stringify(value);

/** Attribute by attribute; of what was made or deleted, whatever it had. */
export function changesOf({ attributes: { before, after } }: Event): Change[] {
  const [old, now] = [before, after] as (Record<string, unknown> | null)[];
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])];
  return names
    .map((name) => ({ name, before: textOf(old?.[name]), after: textOf(now?.[name]) }))
    .filter((change) => change.before !== change.after);
}
