/** The parts of an event that its sentence is built from. */
import { changesOf, kindOf, pageOf, timeOf, type Event, type RelatedResource } from "./words.ts";

export type SentenceText = string | { readonly name: string; readonly to?: string | undefined };

export type Sentence = (event: EventParts) => readonly SentenceText[];

export type EventAttributes = Readonly<Record<string, any>>;

/** The server lists the owner first among the related resources. */
const ownerTypes: Readonly<Record<string, readonly string[]>> = {
  vars: ["workspaces", "varsets"],
  agents: ["agent-pools"],
  "oauth-tokens": ["oauth-clients"],
  "notification-configurations": ["workspaces", "projects", "teams"],
  "identity-trusts": ["teams"],
  ...Object.fromEntries(
    [
      "runs",
      "comments",
      "plans",
      "applies",
      "state-versions",
      "configuration-versions",
      "assessment-results",
      "data-retention-policies",
    ].map((type) => [type, ["workspaces"]]),
  ),
};

export class EventParts {
  readonly type: string;
  readonly verb: string;
  readonly before: EventAttributes;
  readonly after: EventAttributes;
  /** After the event or, for a deletion, before it. */
  readonly attributes: EventAttributes;
  readonly #organization: string;
  readonly #event: Event;

  constructor(organization: string, event: Event) {
    const { action, before, after, "subject-type": type } = event.attributes;
    this.#organization = organization;
    this.#event = event;
    this.type = type;
    this.verb = action.slice(action.indexOf(".") + 1);
    this.before = before ?? {};
    this.after = after ?? {};
    this.attributes = after ?? before ?? {};
  }

  resource(id: string | null | undefined): SentenceText {
    const found = this.#event.attributes.related.find((each) => each.id === id);
    return found === undefined ? { name: id ?? "–" } : this.#linked(found);
  }

  resources(ids: readonly string[] | undefined): SentenceText[] {
    return listOf((ids ?? []).map((id) => this.resource(id)));
  }

  get subject(): SentenceText {
    const { "subject-id": id, "subject-name": fullName } = this.#event.attributes;
    if (fullName === null) return { name: id };
    // A run's name is its message, which may be a whole commit message.
    const name = fullName.split("\n", 1)[0]!;
    const isGone = this.#event.attributes.related.some((each) => each.id === id && each.deleted);
    return this.#linked({ type: this.type, id, name, deleted: isGone || this.verb === "delete" });
  }

  #linked(resource: RelatedResource): SentenceText {
    return resource.deleted
      ? { name: resource.name }
      : { name: resource.name, to: pageOf(this.#organization, resource) };
  }

  /** "variable region"; "the plan of run …" for resources without a name. */
  get named(): SentenceText[] {
    const { serial } = this.attributes;
    if (this.type === "state-versions" && serial !== undefined) return [`${this.kind} `, { name: String(serial) }];
    const isNamed = this.#event.attributes["subject-name"] !== null;
    if (isNamed || this.owner === undefined) return [`${this.kind} `, this.subject];
    const run = this.#first(["runs"]);
    return run === undefined
      ? [`${/^[aeiou]/.test(this.kind) ? "an" : "a"} ${this.kind}`]
      : [`the ${this.kind} of run `, run];
  }

  get kind(): string {
    return kindOf(this.type);
  }

  get owner(): SentenceText | undefined {
    return this.#first(ownerTypes[this.type] ?? []);
  }

  /** " in billing-eu", or " for on-call" if the owner is a team. */
  in(preposition?: string): SentenceText[] {
    const owner = this.#firstOf(ownerTypes[this.type] ?? []);
    if (owner === undefined) return [];
    return [` ${preposition ?? (owner.type === "teams" ? "for" : "in")} `, this.#linked(owner)];
  }

  /** The request whose approval made the change. */
  get request(): SentenceText[] {
    const { "access-request-id": id, "subject-id": subjectId } = this.#event.attributes;
    return id && id !== subjectId ? [", by access request ", this.resource(id)] : [];
  }

  #firstOf(types: readonly string[]): RelatedResource | undefined {
    return this.#event.attributes.related.find(
      ({ id, type }) => id !== this.#event.attributes["subject-id"] && types.includes(type),
    );
  }

  #first(types: readonly string[]): SentenceText | undefined {
    const found = this.#firstOf(types);
    return found && this.#linked({ ...found, name: found.name.split("\n", 1)[0]! });
  }

  get changed(): string[] {
    return changesOf(this.#event).map(({ name }) => name);
  }
}

const shownMax = 3;

export function listOf(parts: readonly (SentenceText | readonly SentenceText[])[]): SentenceText[] {
  const shown = parts.slice(0, parts.length === shownMax + 1 ? parts.length : shownMax);
  const more = parts.length - shown.length;
  const ends: SentenceText[] = more > 0 ? [` and ${more} more`] : [];
  return [
    ...shown.flatMap((part, at) => {
      const joint = more === 0 && at === shown.length - 1 ? " and " : ", ";
      return [
        ...(at === 0 ? [] : [joint]),
        ...(Array.isArray(part) ? (part as readonly SentenceText[]) : [part as SentenceText]),
      ];
    }),
    ...ends,
  ];
}

export const until = (instant: string | null | undefined): string => (instant ? ` until ${timeOf(instant)}` : "");
export const expires = (instant: string | null | undefined): string =>
  instant ? `, expires ${timeOf(instant)}` : ", never expires";
export const quoted = (text: string | null | undefined): string => (text ? `: “${text}”` : "");

/** By action, of the sentences by verb. */
export function under(type: string, some: Readonly<Record<string, Sentence>>): Record<string, Sentence> {
  return Object.fromEntries(Object.entries(some).map(([verb, sentence]) => [`${type}.${verb}`, sentence]));
}
