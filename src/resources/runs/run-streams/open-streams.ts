/** Counts open streams, and limits them per server, organization and caller. */
import { type Actor, principalOf, tokenIdOf } from "../../../access/actor.ts";
import type { Database } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { StreamLimits } from "../../shared/context.ts";

class OpenStreams {
  #count = 0;
  readonly #counts = new Map<string, number>();

  /** Returns the function to call when the stream closes. Throws `too-many-requests` and `unavailable`. */
  open(actor: Actor, organizationId: string, { perCaller, perOrganization, perServer }: StreamLimits): () => void {
    const caller = `caller ${principalOf(actor) || (tokenIdOf(actor) ?? "")}`;
    const organization = `organization ${organizationId}`;
    this.#refuseBeyond(caller, perCaller, (open) => `You have ${open} on this server, the maximum for one caller.`);
    this.#refuseBeyond(
      organization,
      perOrganization,
      (open) => `This organization has ${open} on this server, the maximum for one organization.`,
    );
    if (this.#count >= perServer)
      throw new AppError(
        "unavailable",
        `This server has ${counted(this.#count, "open stream")}, its maximum. Poll the run, or try again later.`,
        { retryAfterSeconds: 30 },
      );
    const add = (number: 1 | -1) => {
      this.#count += number;
      for (const key of [caller, organization]) this.#add(key, number);
    };
    add(1);
    let isOpen = true;
    return () => {
      if (isOpen) add(-1);
      isOpen = false;
    };
  }

  #refuseBeyond(key: string, max: number, sentence: (open: string) => string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count < max) return;
    const detail = `${sentence(counted(count, "open stream"))} Close one of them, or poll the run.`;
    throw new AppError("too-many-requests", detail, { retryAfterSeconds: 30 });
  }

  #add(key: string, number: 1 | -1): void {
    const count = (this.#counts.get(key) ?? 0) + number;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}

const openStreams = new WeakMap<Database, OpenStreams>();

export function openStreamsOf(database: Database): OpenStreams {
  const existing = openStreams.get(database);
  if (existing !== undefined) return existing;
  const created = new OpenStreams();
  openStreams.set(database, created);
  return created;
}
