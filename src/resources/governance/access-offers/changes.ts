/** Validates an offer's changes, and replaces the placeholder by the person who takes it. Pure. */
import { AppError, type Fault, invalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { type ChangeParser, type ParsedChange, pointerOf } from "../../sharing/access-previews/changes.ts";
import { takerPlaceholder } from "./definition.ts";
import type { OfferChanges } from "./rules.ts";

export interface OfferTaker {
  readonly userId: string;
  readonly membershipId: string;
}

const seatsByUser = "/teams/:team_id/relationships/users";
const seatsByMembership = "/teams/:team_id/relationships/organization-memberships";
const offerable: ReadonlySet<string> = new Set(["/team-projects", "/team-workspaces", seatsByUser, seatsByMembership]);

/** Stands for the person who takes an offer while nobody does. Does not exist. */
export const anyTaker: OfferTaker = { userId: newId("users"), membershipId: newId("organization-memberships") };

/** Each change as for `anyTaker`. Throws `invalid` with the faults of all changes. */
export function parseOfferedChanges(parse: ChangeParser, changes: OfferChanges): ParsedChange[] {
  const faults = changes.flatMap((change, position) =>
    misplacedPlaceholders(change).map((fault) => ({ ...fault, pointer: `${pointerOf(position)}${fault.pointer}` })),
  );
  if (faults.length > 0) throw invalid(faults);
  const parsed = parse(changesFor(changes, anyTaker));
  const others = parsed.flatMap(({ operation }, position): Fault[] =>
    offerable.has(operation.path)
      ? []
      : [
          {
            pointer: `${pointerOf(position)}/path`,
            detail: `Path must be that of a new grant or of new members of a team, which are: ${[...offerable].map((path) => `POST ${path}`).join(", ")}`,
          },
        ],
  );
  if (others.length > 0) throw invalid(others);
  return parsed;
}

/** For changes that were valid when they were stored: a fixed expiry can have passed since. */
export function parseStoredChanges(parse: ChangeParser, changes: OfferChanges): ParsedChange[] | AppError {
  try {
    return parseOfferedChanges(parse, changes);
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid") return error;
    throw error;
  }
}

/** Where members of a team are listed, and below them, the placeholder can only be an id. */
function misplacedPlaceholders({ path, body }: OfferChanges[number]): Fault[] {
  const isSeats = /\/relationships\/(users|organization-memberships)$/.test(path);
  const detail = `'${takerPlaceholder}' can only be sent instead of a user or membership id: in /data/0/id of the members to add to a team`;
  const inPath = path.split("/").includes(takerPlaceholder) ? [{ pointer: "/path", detail }] : [];
  const inBody = placesOf(body, "/body")
    .filter((pointer) => !(isSeats && /^\/body\/data\/\d+\/id$/.test(pointer)))
    .map((pointer) => ({ pointer, detail }));
  return [...inPath, ...inBody];
}

function placesOf(value: unknown, pointer: string): string[] {
  if (value === takerPlaceholder) return [pointer];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    placesOf(member, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}

export function changesFor(changes: OfferChanges, { userId, membershipId }: OfferTaker): OfferChanges {
  return changes.map((change) => {
    const id = change.path.endsWith("/organization-memberships") ? membershipId : userId;
    return { ...change, body: replaced(change.body, id) };
  });
}

function replaced(value: unknown, id: string): unknown {
  if (value === takerPlaceholder) return id;
  if (Array.isArray(value)) return value.map((member) => replaced(member, id));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member, id)]));
}
