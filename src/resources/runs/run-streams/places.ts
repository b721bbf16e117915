/** How many streams are open: bounded for a server and for each caller. */
import { type Actor, principalOf, tokenIdOf } from "../../../access/actor.ts";
import type { Database } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { StreamLimits } from "../../shared/context.ts";

class StreamPlaces {
  #count = 0;
  readonly #byCaller = new Map<string, number>();

  /** Gives the function that frees the place again. Raises `too-many-requests` and `unavailable`. */
  take(actor: Actor, { perCaller, perServer }: StreamLimits): () => void {
    const caller = principalOf(actor) || (tokenIdOf(actor) ?? "");
    const own = this.#byCaller.get(caller) ?? 0;
    if (own >= perCaller)
      throw new AppError(
        "too-many-requests",
        `You have ${counted(own, "open stream")} on this server, the most that one caller can have. Close one of them, or poll the run.`,
        { retryAfterSeconds: 30 },
      );
    if (this.#count >= perServer)
      throw new AppError(
        "unavailable",
        `This server has ${counted(this.#count, "open stream")}, the most that it can have. Poll the run, or try again later.`,
        { retryAfterSeconds: 30 },
      );
    this.#count += 1;
    this.#byCaller.set(caller, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#count -= 1;
      const left = (this.#byCaller.get(caller) ?? 1) - 1;
      if (left > 0) this.#byCaller.set(caller, left);
      else this.#byCaller.delete(caller);
    };
  }
}

const places = new WeakMap<Database, StreamPlaces>();

export function placesOf(database: Database): StreamPlaces {
  const known = places.get(database);
  if (known !== undefined) return known;
  const made = new StreamPlaces();
  places.set(database, made);
  return made;
}
