/** Collects ids, signed URLs and tokens from responses, so that later requests refer to existing resources. */
import { typeOfParam } from "../test/support/stress/world.ts";

type Json = any;

/** Limit per type; a new entry replaces a random one. */
const entriesMax = 60;

export interface Sender {
  readonly kind: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Intentionally invalid. */
  readonly isNobody?: boolean;
}

export class Pool {
  readonly #chance: () => number;
  readonly #things = new Map<string, string[]>();
  readonly senders: Sender[] = [];
  /** Signed URLs. */
  readonly #addresses: string[] = [];
  /** Resources that must not be deleted. */
  readonly #protected: ReadonlySet<string>;

  constructor(chance: () => number, protectedIds: readonly string[]) {
    this.#chance = chance;
    this.#protected = new Set(protectedIds);
  }

  add(type: string, id: string): void {
    if (id === "" || this.#protected.has(id)) return;
    let ids = this.#things.get(type);
    if (ids === undefined) this.#things.set(type, (ids = []));
    if (!ids.includes(id)) this.#put(ids, id);
  }

  addSender(sender: Sender): void {
    this.#put(this.senders, sender);
  }

  /** Removes a caller whose token is no longer valid. */
  dropSender(sender: Sender): void {
    const position = this.senders.indexOf(sender);
    if (position >= 0 && !sender.isNobody) this.senders.splice(position, 1);
  }

  /** Forgets most entries, so that requests concentrate on few tenants. */
  forget(): void {
    for (const ids of this.#things.values()) ids.splice(3);
    this.senders.splice(0);
    this.#addresses.splice(6);
  }

  #put<T>(all: T[], one: T): void {
    if (all.length < entriesMax) all.push(one);
    else all[Math.floor(this.#chance() * entriesMax)] = one;
  }

  idOf(type: string, choice: number): string {
    const ids = this.#things.get(type);
    return ids === undefined || ids.length === 0 ? "none" : ids[choice % ids.length]!;
  }

  param(name: string, choice: number): string {
    const type = typeOfParam(name);
    // One definition has two names for its ids.
    const known = this.#things.has(type) ? type : type === "outputs" ? "state-version-outputs" : type;
    return this.idOf(known, choice);
  }

  /** A signed URL for the operation with this path pattern. */
  signedUrl(pattern: RegExp, choice: number): string | undefined {
    const found = this.#addresses.filter((address) => pattern.test(address));
    return found[choice % Math.max(1, found.length)];
  }

  /** Collects ids, URLs and tokens from a response. */
  collect(body: Json): void {
    if (typeof body !== "object" || body === null) return;
    if (Array.isArray(body)) {
      for (const each of body.slice(0, 30)) this.collect(each);
      return;
    }
    if (typeof body.type === "string" && typeof body.id === "string") this.#note(body);
    for (const value of Object.values(body)) {
      if (typeof value === "string") this.#noteText(value);
      else this.collect(value);
    }
  }

  #note({ type, id, attributes }: Json): void {
    this.add(type, id);
    // As paths call them.
    if (type === "organizations" && typeof attributes?.name === "string") this.add(type, attributes.name);
    if (type === "workspaces" && typeof attributes?.name === "string") this.add("workspace names", attributes.name);
    if (type === "vars") this.add("varset vars", id);
    if (type === "plans" || type === "applies") this.add("agent-jobs", id);
    if (type === "applies") this.add("applys", id);
    const token = attributes?.token ?? attributes?.["job-token"];
    if (typeof token === "string" && token.length > 20)
      this.addSender({ kind: `a token of ${type}`, headers: { authorization: `Bearer ${token}` } });
  }

  #noteText(text: string): void {
    const [, secret] = /\/app\/(?:invitation|join)[^#?]*[#?/]([\w-]{20,})$/.exec(text) ?? [];
    if (secret !== undefined) this.add("invitation secrets", secret);
    if (/^http:\/\/127\.0\.0\.1:\d+\/api\//.test(text)) this.#put(this.#addresses, text);
    const [, key] = /\/logs\/([\w.-]+)$/.exec(text) ?? [];
    if (key !== undefined) this.add("log-keys", key);
  }
}
