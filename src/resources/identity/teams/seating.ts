/**
 * Decides which members join a team, and whose expiry or reason changes. Current members without a change are skipped; an ended membership
 * starts again. See docs/decisions/0102-memberships-of-teams-that-end.md.
 */
import type { Identifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { AuditEvent } from "../../shared/audit-events/writes.ts";
import { type Ending, endingAfter, endOf, lasting, type SentEnding, shownEnding } from "../../shared/grants/ending.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { Member } from "./store.ts";

export type MemberKind = "users" | "organization-memberships";
export type MemberItem = Identifier<SentEnding>;

const keyOf = (by: MemberKind, id: string) => (by === "users" && !looksLikeUserId(id) ? fold(id) : id);

const keysOf = (by: MemberKind, { userId, username, membershipId }: Member): (string | null)[] =>
  by === "users" ? [userId, fold(username ?? "")] : [membershipId];

function unknownItems<Item extends Identifier>(
  by: MemberKind,
  body: readonly Item[],
  found: readonly Member[],
): [number, Item][] {
  const known = new Set(found.flatMap((member) => keysOf(by, member)));
  return [...body.entries()].filter(([, { id }]) => !known.has(keyOf(by, id)));
}

export function unknownFaults(by: MemberKind, body: readonly Identifier[], found: readonly Member[]): Fault[] {
  return unknownItems(by, body, found).map(([position, { id }]) => ({
    pointer: `/data/${position}/id`,
    detail: `${by === "users" ? "User" : "Membership"} '${id}' is not a member of this organization; add them to the organization first`,
  }));
}

export interface Seating {
  readonly joining: readonly Member[];
  readonly changing: readonly { readonly before: Member; readonly after: Member }[];
  /** The latest end of anything that is granted; undefined if nothing is. */
  readonly through: string | undefined;
}

export function seatingOf(by: MemberKind, body: readonly MemberItem[], found: readonly Member[]): Seating {
  // If a member is listed twice, the last entry counts.
  const metaByKey = new Map(
    body.flatMap(({ id, meta }) => (meta === undefined ? [] : [[keyOf(by, id), meta] as const])),
  );
  const seats = found.map((before) => {
    const sent = keysOf(by, before).flatMap((key) => metaByKey.get(key ?? "") ?? [])[0] ?? {};
    const current = before.isIn === 1 && !isByGroup(before) ? before : lasting;
    return { before, after: { ...before, ...endingAfter(current, sent), ssoProviderId: null } };
  });
  const joining = seats.filter(({ before }) => before.isIn === 0).map(({ after }) => after);
  const changing = seats.filter(({ before, after }) => before.isIn === 1 && differ(before, after));
  const ends = [
    ...unknownItems(by, body, found).map(([, { meta = {} }]) => endOf(endingAfter(lasting, meta))),
    ...joining.map(endOf),
    ...changing
      .filter(({ before, after }) => endOf(after) > endOf(before) || isByGroup(before))
      .map(({ after }) => endOf(after)),
  ];
  return { joining, changing, through: ends.toSorted().at(-1) };
}

/** A membership that a group grants ends with the group, so making it a manual one counts as a grant. */
const isByGroup = ({ ssoProviderId }: Member) => ssoProviderId !== null;

const differ = (one: Member, other: Member) =>
  one.expiresAt !== other.expiresAt || one.reason !== other.reason || one.ssoProviderId !== other.ssoProviderId;

/** Permanent members who get an expiry. For an owner this counts as leaving. */
export const givenAnEnd = ({ changing }: Seating): string[] =>
  changing
    .filter(({ before, after }) => before.expiresAt === null && after.expiresAt !== null)
    .map(({ before }) => before.membershipId);

type Told = Pick<Member, "membershipId" | "username"> & Ending;

export function membersEvent(
  team: { readonly id: string; readonly organizationId: string },
  verb: "add-members" | "update-members" | "remove-members" | "expire-members",
  change: { readonly before?: readonly Told[]; readonly after?: readonly Told[] },
): AuditEvent {
  const listed = (members: readonly Told[] | undefined) =>
    members && {
      members: members.map(({ membershipId, username, ...ending }) => ({
        membership: membershipId,
        username,
        ...shownEnding(ending),
      })),
    };
  return {
    organizationId: team.organizationId,
    verb,
    subject: { type: "teams", id: team.id },
    before: listed(change.before),
    after: listed(change.after),
  };
}

export function seatingEvents(
  team: { readonly id: string; readonly organizationId: string },
  found: readonly Member[],
  { joining, changing }: Seating,
): AuditEvent[] {
  const ended = found.filter((member) => member.hasEnded === 1);
  return [
    ...(ended.length > 0 ? [membersEvent(team, "expire-members", { before: ended })] : []),
    ...(joining.length > 0 ? [membersEvent(team, "add-members", { after: joining })] : []),
    ...(changing.length > 0
      ? [
          membersEvent(team, "update-members", {
            before: changing.map(({ before }) => before),
            after: changing.map(({ after }) => after),
          }),
        ]
      : []),
  ];
}
