/** Sentences of events about access: grants and memberships with levels and expiry, requests, and refusals by rules. */
import {
  type EventParts,
  expires,
  type EventAttributes,
  listOf,
  quoted,
  until,
  type SentenceText,
  type Sentence,
  under,
} from "./event-parts.ts";

function grantOf(event: EventParts): { team: SentenceText; target: SentenceText; level: string } {
  const { team, project, workspace } = event.attributes;
  return { team: event.resource(team), target: event.resource(project ?? workspace), level: levelOf(event.attributes) };
}

/** Of a permission with two names, the second is omitted. */
function permissionsOf(attributes: EventAttributes): [name: string, value: string | boolean][] {
  const { "project-access": onProject, "workspace-access": onWorkspaces, ...own } = attributes;
  const all = onProject === undefined ? own : { ...onProject, ...onWorkspaces };
  const others = ["access", "expires-at", "reason", "team", "workspace", "project", "sentinel-mocks"];
  return Object.entries<string | boolean>(all).filter(([name]) => !others.includes(name));
}

const permissionText = ([name, value]: [string, string | boolean]): string =>
  typeof value === "string" ? `${name}: ${value}` : value ? name : `no ${name}`;

function levelOf(attributes: EventAttributes): string {
  const held = permissionsOf(attributes).filter(([, value]) => value !== "none" && value !== false);
  if (attributes["access"] !== "custom" || held.length === 0) return attributes["access"];
  return `custom (${held.map(permissionText).join(", ")})`;
}

const granted: Sentence = (event) => {
  const { team, target, level } = grantOf(event);
  return ["granted ", team, ` ${level} on `, target, until(event.after["expires-at"]), quoted(event.after["reason"])];
};

const regranted: Sentence = (event) => {
  const { team, target, level } = grantOf(event);
  const { before, after } = event;
  const [end, reason] = [after["expires-at"], quoted(after["reason"])];
  if (before["access"] !== after["access"])
    return ["changed ", team, ` from ${levelOf(before)} to ${level} on `, target, until(end), reason];
  const old = new Map(permissionsOf(before));
  const changed = permissionsOf(after).filter(([name, value]) => old.get(name) !== value);
  if (changed.length > 0) {
    const permissions = changed.map(permissionText).join(", ");
    return ["changed the access of ", team, " on ", target, ` to ${permissions}`, until(end), reason];
  }
  if (before["expires-at"] !== end)
    return ["changed the expiry of ", team, `: ${after["access"]} on `, target, expires(end), reason];
  return ["changed the reason for the access of ", team, `: ${after["access"]} on `, target, until(end), reason];
};

const revoked: Sentence = (event) => {
  const { team, target, level } = grantOf(event);
  return [`revoked ${level} on `, target, " from ", team];
};

const expired: Sentence = (event) => {
  const { team, target, level } = grantOf(event);
  return ["removed expired access of ", team, `: ${level} on `, target];
};

interface EndedMembership {
  readonly membership: string;
  readonly username: string | null;
  readonly "expires-at"?: string | null;
}

const membersIn = (event: EventParts): EndedMembership[] => event.attributes["members"] ?? [];
const nameOf = (event: EventParts, { username, membership }: EndedMembership): SentenceText =>
  username === null ? event.resource(membership) : { name: username };
const membersOf = (event: EventParts): SentenceText[] =>
  listOf(membersIn(event).map((member) => nameOf(event, member)));

/** With different expiries: "bo until 19:00 and kim until 22:00 to on-call". */
function withEnds(event: EventParts, joint: string, ended: typeof until): SentenceText[] {
  const members = membersIn(event);
  const ends = new Set(members.map((member) => member["expires-at"] ?? null));
  if (ends.size === 1) return [...membersOf(event), joint, event.subject, ended([...ends][0])];
  const each = members.map((member) => [nameOf(event, member), until(member["expires-at"]) || " with no expiry"]);
  return [...listOf(each), joint, event.subject];
}

/** ", which had write on Payments and members bo and kim". */
const deletedTeam: Sentence = (event) => {
  const { grants = [], members = [] } = event.before;
  const held = (grants as EventAttributes[]).map(({ access, project, workspace }) => [
    `${access} on `,
    event.resource(project ?? workspace),
  ]);
  const seats: SentenceText[][] =
    members.length > 0 ? [[members.length === 1 ? "member " : "members ", ...membersOf(event)]] : [];
  const all = [...(held.length > 0 ? [listOf(held)] : []), ...seats];
  return ["deleted team ", event.subject, ...(all.length > 0 ? [", which had ", ...listOf(all)] : [])];
};

const deletedProject: Sentence = (event) => {
  const grants: EventAttributes[] = event.before["grants"] ?? [];
  const held = listOf(grants.map(({ team, access }) => [event.resource(team), ` had ${access}`]));
  return ["deleted project ", event.subject, ...(held.length > 0 ? [", where ", ...held] : [])];
};

const memberSentences: Record<string, Sentence> = {
  delete: deletedTeam,
  "add-members": (event) => ["added ", ...withEnds(event, " to ", until)],
  "update-members": (event) => ["changed ", ...withEnds(event, " in ", expires)],
  "remove-members": (event) => ["removed ", ...membersOf(event), " from ", event.subject],
  "expire-members": (event) => ["removed ", ...membersOf(event), " from ", event.subject, " (expired)"],
  "refuse-member": ({ subject, after }) => [
    "did not add ",
    { name: after["username"] },
    " to ",
    subject,
    ", because rule ",
    { name: after["rule-name"] },
    " refuses it",
    quoted(after["message"]),
  ],
};

const skippedChange: Sentence = ({ subject, after }) => [
  "skipped a change of the import, because rule ",
  subject,
  " refuses it",
  quoted(after["message"]),
];

const decided =
  (verb: string): Sentence =>
  (event) => [
    `${verb} access request `,
    event.subject,
    ...(event.after["requester"] ? [" of ", event.resource(event.after["requester"])] : []),
    quoted(event.after["decision-comment"]),
  ];

const requestSentences: Record<string, Sentence> = {
  create: ({ subject }) => ["sent access request ", subject],
  approve: decided("approved"),
  deny: decided("denied"),
  withdraw: ({ subject }) => ["withdrew access request ", subject],
  lapse: ({ subject }) => ["recorded that access request ", subject, " has lapsed"],
  "break-glass": ({ subject }) => ["took break-glass access: ", subject],
};

const grantSentences: Record<string, Sentence> = {
  create: granted,
  update: regranted,
  delete: revoked,
  expire: expired,
};

export const accessSentences: Readonly<Record<string, Sentence>> = {
  ...under("team-projects", grantSentences),
  ...under("team-workspaces", grantSentences),
  ...under("teams", memberSentences),
  ...under("access-requests", requestSentences),
  "access-rules.skip-change": skippedChange,
  "projects.delete": deletedProject,
};
