/** The changes of an access request: which a duration allows, when they expire, and whom they add to teams. Pure. */
import { AppError, type Fault } from "../../../kernel/errors.ts";
import { kebab } from "../../../kernel/names.ts";
import {
  type AccessChangeRequest,
  type ChangeParser,
  type ParsedChange,
  pointerOf,
} from "../../sharing/access-previews/changes.ts";

const seatPath = /^\/teams\/:team_id\/relationships\/(users|organization-memberships)$/;

export const kindOf = ({ operation: { method, path } }: ParsedChange): string => `${method} ${path}`;

/** Undefined for other changes. */
export function membersOf({
  operation,
  input,
}: ParsedChange): { readonly by: "users" | "organization-memberships"; readonly ids: readonly string[] } | undefined {
  const by = seatPath.exec(operation.path)?.[1] as "users" | "organization-memberships" | undefined;
  return by && { by, ids: (input as readonly { id: string }[]).map(({ id }) => id) };
}

const isTemporary = ({ operation: { method, path } }: ParsedChange): boolean =>
  method === "POST" && (path === "/team-projects" || path === "/team-workspaces" || seatPath.test(path));

export const durationFaults = (changes: readonly ParsedChange[]): Fault[] =>
  changes.flatMap((change, position) =>
    isTemporary(change)
      ? []
      : [
          {
            pointer: `${pointerOf(position)}/path`,
            detail:
              "Path must be that of a new grant or of new members of a team, with the method POST, because the request has a duration. Send duration-seconds null, or ask for other changes in a request of their own",
          },
        ],
  );

/** An approver decides on access. Names, or tags that rules test, would change without being shown. */
export const faultsBesideAccess = (changes: readonly ParsedChange[]): Fault[] =>
  changes.flatMap(({ input, accessInput }, position) =>
    (["attributes", "relationships"] as const).flatMap((member) => {
      const ofAccess = namesIn(accessInput, member);
      return namesIn(input, member)
        .filter((name) => !ofAccess.includes(name))
        .map((name) => ({
          pointer: `${pointerOf(position)}/body/data/${member}/${kebab(name)}`,
          detail: "Changes of an access request can only change access. Leave this out",
        }));
    }),
  );

function namesIn(input: unknown, member: "attributes" | "relationships"): string[] {
  const sent = (input as Partial<Record<typeof member, object>> | undefined)?.[member] ?? {};
  return Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/** The handlers' inputs. */
export interface GrantInput {
  readonly attributes: { readonly access?: string; readonly expiresAt?: string | null };
}
export interface SeatInput {
  readonly meta?: { readonly expiresAt?: string | null | undefined };
}

/** The handler's input of a change that ends then, or at its own earlier expiry. */
function withExpiry(input: unknown, until: string): unknown {
  const earlier = (own: string | null | undefined) => (own != null && own < until ? own : until);
  if (Array.isArray(input))
    return (input as SeatInput[]).map((seat) => ({
      ...seat,
      meta: { ...seat.meta, expiresAt: earlier(seat.meta?.expiresAt) },
    }));
  const grant = input as GrantInput;
  return { ...grant, attributes: { ...grant.attributes, expiresAt: earlier(grant.attributes.expiresAt) } };
}

export function applyDuration(changes: readonly ParsedChange[], durationSeconds: number | null, nowMs: number) {
  if (durationSeconds === null) return changes;
  const until = new Date(nowMs + durationSeconds * 1000).toISOString();
  return changes.map((change) => {
    const input = withExpiry(change.input, until);
    return { ...change, input, accessInput: input };
  });
}

export interface StoredChanges {
  readonly changes: readonly ParsedChange[];
  /** Of `changes`: their positions in the request. */
  readonly positions: readonly number[];
  readonly firstError: { readonly position: number; readonly error: AppError } | undefined;
}

export const asStored = (changes: readonly ParsedChange[]): StoredChanges => ({
  changes,
  positions: [...changes.keys()],
  firstError: undefined,
});

/** A change that was valid when the request was created can have an expiry that has passed since. */
export function parseStored(parse: ChangeParser, stored: readonly AccessChangeRequest[]): StoredChanges {
  const parsed = stored.map((change, position) => {
    try {
      return { position, change: parse([change])[0] };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid") throw error;
      return { position, error };
    }
  });
  const valid = parsed.flatMap(({ position, change }) => (change === undefined ? [] : [{ position, change }]));
  const failed = parsed.flatMap(({ position, error }) => (error === undefined ? [] : [{ position, error }]));
  return {
    changes: valid.map(({ change }) => change),
    positions: valid.map(({ position }) => position),
    firstError: failed[0],
  };
}
