/** What every operation is given: who calls, where the register is, and the settings that change behaviour. */
import type { Actor } from "../../access/actor.ts";
import type { Database } from "../../database/database.ts";
import type { Handlers, Resource, ResourceDefinition } from "../../jsonapi/define.ts";

/** The settings that operations look at; a part of `settings.ts`. */
export interface ServiceOptions {
  readonly organizationCreation: "site-admins" | "anyone";
}

export interface Context {
  readonly actor: Actor;
  readonly database: Database;
  readonly options: ServiceOptions;
  readonly requestId: string;
}

/** Joins a definition with the functions that carry out its operations. */
export function implement<const D extends ResourceDefinition>(
  definition: D,
  handlers: Handlers<Context, D>,
): Resource<Context> {
  return { definition, handlers: handlers as Resource<Context>["handlers"] };
}
