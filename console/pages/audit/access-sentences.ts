/** Sentences of events about access: grants of teams, and who is in a team, with levels and expiry. */
import { type EventParts, expires, listOf, until, type Part, type Sentence } from "./event-parts.ts";

function grantOf(event: EventParts): { team: Part; place: Part; level: string } {
  const { team, project, workspace, access } = event.facts;
  return { team: event.thing(team), place: event.thing(project ?? workspace), level: access };
}

const granted: Sentence = (event) => {
  const { team, place, level } = grantOf(event);
  return ["granted ", team, ` ${level} on `, place, until(event.after["expires-at"])];
};

const regranted: Sentence = (event) => {
  const { team, place, level } = grantOf(event);
  const { before, after } = event;
  if (before["access"] !== level)
    return ["changed ", team, ` from ${before["access"]} to ${level} on `, place, until(after["expires-at"])];
  if (before["expires-at"] !== after["expires-at"])
    return ["changed the expiry of ", team, `: ${level} on `, place, expires(after["expires-at"])];
  return ["changed the access of ", team, `: ${level} on `, place, until(after["expires-at"])];
};

const revoked: Sentence = (event) => {
  const { team, place, level } = grantOf(event);
  return [`revoked ${level} on `, place, " from ", team];
};

const expired: Sentence = (event) => {
  const { team, place, level } = grantOf(event);
  return ["removed expired access of ", team, `: ${level} on `, place];
};

interface Member {
  readonly membership: string;
  readonly username: string | null;
  readonly "expires-at"?: string | null;
}

/** "bo until 19:00 and kim". */
const membersOf = (event: EventParts): Part[] =>
  listOf(
    ((event.facts["members"] ?? []) as Member[]).map(({ username, membership }) =>
      username === null ? event.thing(membership) : { name: username },
    ),
  );

/** The end that all of them have, where they have the same. */
function endOf(event: EventParts): string | null {
  const ends = new Set(((event.facts["members"] ?? []) as Member[]).map((member) => member["expires-at"] ?? null));
  return ends.size === 1 ? ([...ends][0] ?? null) : null;
}

export const memberSentences: Record<string, Sentence> = {
  "add-members": (event) => ["added ", ...membersOf(event), " to ", event.subject, until(endOf(event))],
  "update-members": (event) => ["changed ", ...membersOf(event), " in ", event.subject, expires(endOf(event))],
  "remove-members": (event) => ["removed ", ...membersOf(event), " from ", event.subject],
  "expire-members": (event) => ["removed ", ...membersOf(event), " from ", event.subject, " (expired)"],
};

export const accessSentences: Record<string, Sentence> = {
  create: granted,
  update: regranted,
  delete: revoked,
  expire: expired,
};
