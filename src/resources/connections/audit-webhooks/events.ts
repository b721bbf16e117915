/** Of what an audit webhook is told: names of our own, and patterns of the trail's actions. Pure. */
import { z } from "zod";

export const accessChanged = "access.changed";
export const lockHeld = "lock.held";

/** `*` for every event of the trail, `workspaces.*` for all of one kind, `workspaces.lock` for one action. */
const pattern = /^(\*|[a-z][a-z-]*\.(\*|[a-z][a-z-]*))$/;

export const eventName = z
  .string()
  .max(100)
  .regex(pattern, {
    error: `must be '${accessChanged}', '${lockHeld}', an action such as 'workspaces.lock', all of a kind such as 'workspaces.*', or '*'`,
  });

/** What decides who may do what: records, teams and who is in them, memberships, tokens and trusts, and where a workspace is. */
const accessKinds: ReadonlySet<string> = new Set([
  "team-projects",
  "team-workspaces",
  "teams",
  "organization-memberships",
  "authentication-tokens",
  "identity-trusts",
  "organization-token-ttl-policies",
]);
const accessActions: ReadonlySet<string> = new Set(["projects.move-workspaces", "users.delete"]);

/** What an event of the trail is called for a webhook that wants these; undefined where it wants none of it. */
export function nameFor(wanted: readonly string[], action: string): string | undefined {
  const [kind = ""] = action.split(".");
  if (wanted.includes(accessChanged) && (accessKinds.has(kind) || accessActions.has(action))) return accessChanged;
  return wanted.some((each) => each === "*" || each === action || each === `${kind}.*`) ? action : undefined;
}
