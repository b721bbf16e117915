/** The sentence of an event: what its actor did, with the names of the resources. */
import {
  EventParts,
  expires,
  type EventAttributes,
  listOf,
  quoted,
  until,
  type SentenceText,
  type Sentence,
  under,
} from "./event-parts.ts";
import { accessSentences } from "./access-sentences.ts";
import { type Event, spanOf } from "./words.ts";

const tagsOf = ({ attributes }: EventParts): SentenceText[] =>
  listOf((attributes["tags"] ?? []).map((name: string) => ({ name })));

const boundTags: Sentence = ({ before, after, subject }) => {
  const [old, now]: EventAttributes[] = [before["tag-bindings"] ?? {}, after["tag-bindings"] ?? {}];
  const named = (tags: [string, string][]) => listOf(tags.map(([key, value]) => ({ name: `${key}=${value}` })));
  const set = Object.entries<string>(now!).filter(([key, value]) => old![key] !== value);
  const removed = Object.entries<string>(old!).filter(([key]) => !Object.hasOwn(now!, key));
  if (set.length === 0 && removed.length === 0) return ["made no change to the tags of ", subject];
  if (set.length === 0) return ["removed ", ...named(removed), " from ", subject];
  return ["set ", ...named(set), " on ", subject, ...(removed.length > 0 ? [" and removed ", ...named(removed)] : [])];
};

const moved: Sentence = (event) => {
  const workspaces = (event.after["workspaces"] ?? []) as { id: string; name: string }[];
  const sources = new Set<string>(
    (event.before["workspaces"] ?? []).map(({ project }: { project: string }) => project),
  );
  const [from] = sources;
  const origin: SentenceText[] = sources.size === 1 ? [" from ", event.resource(from)] : [];
  return ["moved ", ...listOf(workspaces.map(({ name }) => ({ name }))), ...origin, " to ", event.subject];
};

const linked =
  (verb: string, preposition: string): Sentence =>
  (event) => {
    const added: string[] = event.after["projects"] ?? event.after["workspaces"] ?? [];
    const removed: string[] = event.before["projects"] ?? event.before["workspaces"] ?? [];
    const all = added.length > 0 ? added : removed;
    return [`${verb} `, ...event.named, ` ${preposition} `, ...event.resources(all)];
  };

const consumers: Sentence = (event) => {
  const added: string[] = event.after["remote-state-consumers"] ?? [];
  const removed: string[] = event.before["remote-state-consumers"] ?? [];
  const allowed: SentenceText[] =
    added.length > 0 ? ["allowed ", ...event.resources(added), " to read the state of "] : [];
  const stopped: SentenceText[] =
    removed.length > 0 ? ["stopped ", ...event.resources(removed), " from reading the state of "] : [];
  return [
    ...allowed,
    ...(added.length > 0 && removed.length > 0 ? [event.subject, " and ", ...stopped] : stopped),
    event.subject,
  ];
};

const lockSentences: Record<string, Sentence> = {
  lock: ({ subject, after }) => ["locked ", subject, until(after["lock-expires-at"]), quoted(after["reason"])],
  "renew-lock": ({ subject, after }) => ["renewed the lock on ", subject, until(after["lock-expires-at"])],
  unlock: ({ subject }) => ["unlocked ", subject],
  "force-unlock": (event) => [
    "force-unlocked ",
    event.subject,
    ...(event.before["locked-by"] ? [", locked by ", event.resource(event.before["locked-by"])] : []),
  ],
  "expire-lock": ({ subject }) => ["released the expired lock on ", subject],
};

const updatedWorkspace: Sentence = (event) => {
  const { before, after, changed, subject } = event;
  const others = quotedList(changed.filter((name) => name !== "project"));
  const [from, to] = [before["project"], after["project"]];
  if (from !== to) return ["moved ", subject, " from ", event.resource(from), " to ", event.resource(to), others];
  return ["updated workspace ", subject, others];
};

const quotedList = (names: readonly string[]): string =>
  names.length === 0 ? "" : `: ${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`;

const phaseOf = ({ before, after }: EventParts): string =>
  /appl/.test(`${before["status"]} ${after["status"]}`) ? "applying" : "planning";

const ofRun =
  (verb: string): Sentence =>
  (event) => [`${verb} `, ...event.named, ...event.in()];

const runSentences: Record<string, Sentence> = {
  create: ofRun("created"),
  admit: ofRun("queued"),
  claim: (event) => ofRun(phaseOf(event) === "applying" ? "started applying" : "started")(event),
  "phase-finished": (event) => ofRun(`finished ${phaseOf(event)}`)(event),
  "phase-errored": (event) => ofRun(`failed while ${phaseOf(event)}`)(event),
  "phase-returned": (event) => [...ofRun("returned")(event), " to the queue"],
  apply: ofRun("confirmed"),
  discard: ofRun("discarded"),
  cancel: ofRun("canceled"),
  "force-cancel": ofRun("force-canceled"),
  "force-execute": (event) => [...ofRun("moved")(event), " to the front of the queue"],
  stale: ofRun("discarded outdated"),
  refuse: ofRun("rejected"),
  "workspace-deleted": ofRun("canceled"),
  import: ofRun("imported"),
};

const stateSentences: Record<string, Sentence> = {
  create: (event) => ["created state version ", { name: String(event.after["serial"] ?? "") }, ...event.in()],
  upload: (event) => ["uploaded state", ...event.in("to")],
  "upload-json": (event) => ["uploaded state as JSON", ...event.in("to")],
  announce: (event) => ["started a state upload", ...event.in("to")],
  discard: (event) => ["discarded a state upload", ...event.in()],
  import: (event) => ["imported state", ...event.in("to")],
  delete: (event) => ["deleted state version ", { name: String(event.before["serial"] ?? "") }, ...event.in("of")],
};

const holderOf = (event: EventParts): SentenceText[] =>
  event.attributes["holder"] ? [" of ", event.resource(event.attributes["holder"])] : [];
const token = (event: EventParts): SentenceText[] =>
  event.attributes["description"] ? [`token `, event.subject] : ["the token"];

const membershipSentences: Record<string, Sentence> = {
  create: (event) => [event.after["status"] === "invited" ? "invited " : "added ", event.subject],
  delete: ({ subject }) => ["removed ", subject, " from the organization"],
  "accept-invitation": ({ subject }) => ["accepted the invitation of ", subject],
  "renew-invitation": ({ subject, after }) => ["sent a new invitation to ", subject, expires(after["expires-at"])],
  "end-invitation": ({ subject }) => ["revoked the invitation link of ", subject],
};

const ofOwner = (event: EventParts): SentenceText[] =>
  event.owner === undefined ? [" of the organization"] : [" of ", event.owner];

const retention: Sentence = (event) => {
  const days = event.after["delete-older-than-n-days"];
  return ["set the retention policy", ...ofOwner(event), days ? ` to ${days} days` : " to keep everything"];
};

/** By action. The filters offer these actions, and those that routes write. */
export const sentences: Readonly<Record<string, Sentence>> = {
  ...accessSentences,
  ...under("workspaces", lockSentences),
  ...under("runs", runSentences),
  ...under("state-versions", stateSentences),
  ...under("organization-memberships", membershipSentences),
  "workspaces.create": (event) => ["created workspace ", event.subject, " in ", event.resource(event.after["project"])],
  "workspaces.update": updatedWorkspace,
  "workspaces.add-tags": (event) => ["added tags ", ...tagsOf(event), " to ", event.subject],
  "workspaces.remove-tags": (event) => ["removed tags ", ...tagsOf(event), " from ", event.subject],
  "workspaces.bind-tags": boundTags,
  "projects.bind-tags": boundTags,
  "projects.move-workspaces": moved,
  "workspaces.assign-ssh-key": (event) =>
    event.after["ssh-key"]
      ? ["set SSH key ", event.resource(event.after["ssh-key"]), " on ", event.subject]
      : ["removed SSH key ", event.resource(event.before["ssh-key"]), " from ", event.subject],
  "workspaces.add-remote-state-consumers": consumers,
  "workspaces.remove-remote-state-consumers": consumers,
  "workspaces.replace-remote-state-consumers": consumers,
  "workspaces.auto-destroy": ({ subject }) => ["started the scheduled destroy of ", subject],
  "varsets.add-projects": linked("applied", "to"),
  "varsets.add-workspaces": linked("applied", "to"),
  "varsets.remove-projects": linked("removed", "from"),
  "varsets.remove-workspaces": linked("removed", "from"),
  "oauth-clients.add-projects": linked("shared", "with"),
  "oauth-clients.remove-projects": linked("stopped sharing", "with"),
  "tags.add-workspaces": linked("added", "to"),
  "authentication-tokens.create": (event) => [
    "created ",
    ...token(event),
    ...holderOf(event),
    expires(event.after["expired-at"]),
  ],
  "authentication-tokens.delete": (event) => ["revoked ", ...token(event), ...holderOf(event)],
  "comments.create": (event) => [
    "commented on run ",
    event.resource(event.after["run"]),
    ...event.in(),
    quoted(event.after["body"]),
  ],
  "configuration-versions.upload": (event) => ["uploaded configuration", ...event.in("to")],
  "run-triggers.create": ({ after }) => [
    "added a run trigger from ",
    { name: after["sourceable-name"] },
    " to ",
    { name: after["workspace-name"] },
  ],
  "run-triggers.delete": ({ before }) => [
    "removed the run trigger from ",
    { name: before["sourceable-name"] },
    " to ",
    { name: before["workspace-name"] },
  ],
  "data-retention-policies.create": retention,
  "data-retention-policies.update": retention,
  "data-retention-policies.delete": (event) => ["removed the retention policy", ...ofOwner(event)],
  "organization-token-ttl-policies.update": ({ attributes }) => [
    `set the maximum lifetime of ${String(attributes["token-type"] ?? "all").replace("_", " ")} tokens`,
    attributes["max-ttl-ms"] === undefined ? "" : ` to ${spanOf(attributes["max-ttl-ms"])}`,
  ],
  "oauth-tokens.update": (event) => ["updated the token", ...event.in("of connection")],
  "oauth-tokens.delete": (event) => ["deleted the token", ...event.in("of connection")],
  "users.link-identity": ({ subject }) => ["linked a sign-in identity to user ", subject],
  "identity-trusts.exchange": (event) => [
    "signed in through identity trust ",
    event.subject,
    until(event.after["expired-at"]),
  ],
  "assessment-results.create": (event) => [
    "assessed",
    ...event.in("the health of"),
    event.after["drifted"] ? ": drift found" : "",
  ],
};

const verbs: Readonly<Record<string, string>> = {
  create: "created",
  delete: "deleted",
  update: "updated",
  verify: "tested",
  import: "imported",
  archive: "archived",
  exchange: "used",
  rotate: "rotated",
  "set-password": "set the password of",
  "soft-delete-backing-data": "deleted the data of",
  "restore-backing-data": "restored the data of",
  "permanently-delete-backing-data": "permanently deleted the data of",
  "refresh-access-violations": "refreshed the access violations of",
  "replace-module-consumers": "replaced the module consumers of",
};

export function sentenceOf(organization: string, event: Event): readonly SentenceText[] {
  const parts = new EventParts(organization, event);
  const sentence = sentences[event.attributes.action];
  if (sentence !== undefined) return [...sentence(parts), ...parts.request].filter((part) => part !== "");
  const verb = verbs[parts.verb] ?? parts.verb.replaceAll("-", " ");
  const changed = parts.verb === "update" ? quotedList(parts.changed) : "";
  return [`${verb} `, ...parts.named, ...parts.in(), changed, ...parts.request].filter((part) => part !== "");
}

export const plainOf = (parts: readonly SentenceText[]): string =>
  parts.map((part) => (typeof part === "string" ? part : part.name)).join("");
