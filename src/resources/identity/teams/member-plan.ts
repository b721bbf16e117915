/** Decides which members join a team, and whose expiry or reason changes. See docs/api.md#expiring-access. */
import type { ResourceIdentifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { AuditEvent } from "../../shared/audit-events/writes.ts";
import type { RuledChange } from "../../shared/hooks.ts";
import { seatChange } from "./ruled-changes.ts";
import {
  type GrantExpiry,
  mergeExpiry,
  expiryOrNever,
  noExpiry,
  type GrantExpiryInput,
  shownExpiry,
} from "../../shared/grants/expiry.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { TeamMemberRow } from "./store.ts";

export type MemberKind = "users" | "organization-memberships";
export type MemberItem = ResourceIdentifier<GrantExpiryInput>;

const keyOf = (by: MemberKind, id: string) => (by === "users" && !looksLikeUserId(id) ? fold(id) : id);

const keysOf = (by: MemberKind, { userId, username, membershipId }: TeamMemberRow): (string | null)[] =>
  by === "users" ? [userId, fold(username ?? "")] : [membershipId];

function findUnknownItems<Item extends ResourceIdentifier>(
  by: MemberKind,
  body: readonly Item[],
  found: readonly TeamMemberRow[],
): [number, Item][] {
  const known = new Set(found.flatMap((member) => keysOf(by, member)));
  return [...body.entries()].filter(([, { id }]) => !known.has(keyOf(by, id)));
}

export function unknownMemberFaults(
  by: MemberKind,
  body: readonly ResourceIdentifier[],
  found: readonly TeamMemberRow[],
): Fault[] {
  return findUnknownItems(by, body, found).map(([position, { id }]) => ({
    pointer: `/data/${position}/id`,
    detail: `${by === "users" ? "User" : "Membership"} '${id}' is not a member of this organization; add them to the organization first`,
  }));
}

export interface TeamMemberPlan {
  readonly joining: readonly TeamMemberRow[];
  readonly changing: readonly { readonly before: TeamMemberRow; readonly after: TeamMemberRow }[];
  readonly latestEnd: string | undefined;
}

export function planTeamMembers(
  by: MemberKind,
  body: readonly MemberItem[],
  found: readonly TeamMemberRow[],
): TeamMemberPlan {
  // If a member is listed twice, the last entry counts.
  const metaByKey = new Map(
    body.flatMap(({ id, meta }) => (meta === undefined ? [] : [[keyOf(by, id), meta] as const])),
  );
  const memberships = found.map((before) => {
    const sent = keysOf(by, before).flatMap((key) => metaByKey.get(key ?? "") ?? [])[0] ?? {};
    const current = before.isMember === 1 && !isFromGroup(before) ? before : noExpiry;
    return { before, after: { ...before, ...mergeExpiry(current, sent), ssoProviderId: null } };
  });
  const joining = memberships.filter(({ before }) => before.isMember === 0).map(({ after }) => after);
  const changing = memberships.filter(({ before, after }) => before.isMember === 1 && isDifferent(before, after));
  const ends = [
    ...findUnknownItems(by, body, found).map(([, { meta = {} }]) => expiryOrNever(mergeExpiry(noExpiry, meta))),
    ...joining.map(expiryOrNever),
    ...changing
      .filter(({ before, after }) => expiryOrNever(after) > expiryOrNever(before) || isFromGroup(before))
      .map(({ after }) => expiryOrNever(after)),
  ];
  return { joining, changing, latestEnd: ends.toSorted().at(-1) };
}

/** Making such a membership manual counts as a grant, because otherwise it ends with the group. */
const isFromGroup = ({ ssoProviderId }: TeamMemberRow) => ssoProviderId !== null;

const isDifferent = (one: TeamMemberRow, other: TeamMemberRow) =>
  one.expiresAt !== other.expiresAt || one.reason !== other.reason || one.ssoProviderId !== other.ssoProviderId;

/** Seats that access rules judge. An earlier end of the same seat isn't one, so that no rule prolongs access. */
export function givenSeats(teamId: string, { joining, changing }: TeamMemberPlan): RuledChange[] {
  const given = changing.filter(
    ({ before, after }) =>
      isFromGroup(before) || before.reason !== after.reason || expiryOrNever(after) > expiryOrNever(before),
  );
  return [...joining, ...given.map(({ after }) => after)].map((member) => seatChange("addMember", teamId, member));
}

/** For an owner, getting an expiry counts as leaving. */
export const membersGivenExpiry = ({ changing }: TeamMemberPlan): string[] =>
  changing
    .filter(({ before, after }) => before.expiresAt === null && after.expiresAt !== null)
    .map(({ before }) => before.membershipId);

type AuditedMember = Pick<TeamMemberRow, "membershipId" | "username"> & GrantExpiry;

export function membersEvent(
  team: { readonly id: string; readonly organizationId: string },
  verb: "add-members" | "update-members" | "remove-members" | "expire-members",
  change: { readonly before?: readonly AuditedMember[]; readonly after?: readonly AuditedMember[] },
): AuditEvent {
  const listed = (members: readonly AuditedMember[] | undefined) =>
    members && {
      members: members.map(({ membershipId, username, ...expiry }) => ({
        membership: membershipId,
        username,
        ...shownExpiry(expiry),
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

export function teamMemberEvents(
  team: { readonly id: string; readonly organizationId: string },
  found: readonly TeamMemberRow[],
  { joining, changing }: TeamMemberPlan,
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
