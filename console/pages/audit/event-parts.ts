/** The parts of an event from which its sentence is made: its subject, the things that it mentions, its facts. */
import { changesOf, kindOf, pageOf, timeOf, type Event } from "./words.ts";

/** Plain text, or the name of a thing, with its page where it has one. */
export type Part = string | { readonly name: string; readonly to?: string | undefined };

export type Sentence = (event: EventParts) => readonly Part[];

type Facts = Readonly<Record<string, any>>;

export class EventParts {
  readonly type: string;
  readonly verb: string;
  readonly before: Facts;
  readonly after: Facts;
  /** Those after the event; of a deletion, those before. */
  readonly facts: Facts;
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
    this.facts = after ?? before ?? {};
  }

  /** A thing that the event mentions, by its id. */
  thing(id: string | null | undefined): Part {
    const found = this.#event.attributes.related.find((each) => each.id === id);
    return found === undefined ? { name: id ?? "–" } : { name: found.name, to: pageOf(this.#organization, found) };
  }

  things(ids: readonly string[] | undefined): Part[] {
    return listOf((ids ?? []).map((id) => this.thing(id)));
  }

  /** The subject's name; its id where it has none. */
  get subject(): Part {
    const { "subject-id": id, "subject-name": fullName } = this.#event.attributes;
    if (fullName === null) return { name: id };
    // A run is known by its message, which may be a whole commit message.
    const name = fullName.split("\n", 1)[0]!;
    return this.verb === "delete" ? { name } : { name, to: pageOf(this.#organization, { type: this.type, id, name }) };
  }

  /** "variable region", "run Open the peering"; only the kind where there is no name and the workspace says enough. */
  get named(): Part[] {
    const isNamed = this.#event.attributes["subject-name"] !== null;
    return isNamed || this.workspace === undefined ? [`${this.kind} `, this.subject] : [this.kind];
  }

  get kind(): string {
    return kindOf(this.type);
  }

  /** The workspace that the event is about. */
  get workspace(): Part | undefined {
    return this.#first("workspaces");
  }

  /** " in billing-eu", of what belongs to something. */
  in(preposition = "in"): Part[] {
    const owner = ["workspaces", "varsets", "agent-pools", "oauth-clients"]
      .filter((type) => type !== this.type)
      .map((type) => this.#first(type))
      .find((found) => found !== undefined);
    return owner === undefined ? [] : [` ${preposition} `, owner];
  }

  #first(type: string): Part | undefined {
    const found = this.#event.attributes.related.find((each) => each.type === type);
    return found && this.thing(found.id);
  }

  /** Attributes that are other than before. */
  get changed(): string[] {
    return changesOf(this.#event).map(({ name }) => name);
  }
}

const shownMax = 3;

/** "a, b and 4 more". */
export function listOf(parts: readonly Part[]): Part[] {
  const shown = parts.slice(0, parts.length === shownMax + 1 ? parts.length : shownMax);
  const more = parts.length - shown.length;
  const ends: Part[] = more > 0 ? [` and ${more} more`] : [];
  return [
    ...shown.flatMap((part, at) => {
      const joint = more === 0 && at === shown.length - 1 ? " and " : ", ";
      return at === 0 ? [part] : [joint, part];
    }),
    ...ends,
  ];
}

export const until = (instant: string | null | undefined): string => (instant ? ` until ${timeOf(instant)}` : "");
export const expires = (instant: string | null | undefined): string =>
  instant ? `, expires ${timeOf(instant)}` : ", never expires";
export const quoted = (text: string | null | undefined): string => (text ? `: “${text}”` : "");
