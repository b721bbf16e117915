/** The members of an organization whom the changes of a request add to teams or remove from them, by id or by name. */
import type { Tx } from "../../../database/database.ts";
import { fold, quoted } from "../../../kernel/text.ts";
import { atChange, unseen } from "../../sharing/access-previews/apply-changes.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import { membersOf, type StoredChanges } from "./changes.ts";
import { findNamedMembers, findNamedUserIds, type ReferencedMember } from "./store.ts";

interface MemberOfChanges extends ReferencedMember {
  /** Whether a change adds the person to a team. */
  readonly isJoining: boolean;
  /** Whether a change has the username instead of an id. */
  readonly isCalledByName: boolean;
}

const idsIn = (change: ParsedChange): readonly string[] => membersOf(change)?.ids ?? [];

/** Throws `not-found` if a change names a user outside of the organization, except `exceptIds`. */
export async function loadNamedMembers(
  tx: Tx,
  organizationId: string,
  changes: readonly ParsedChange[],
  exceptIds: readonly string[] = [],
): Promise<MemberOfChanges[]> {
  const named = changes.map((change) => idsIn(change).filter((id) => !exceptIds.includes(id)));
  if (named.every((ids) => ids.length === 0)) return [];
  const { members, find } = await lookUpMembers(tx, organizationId, changes);
  for (const [position, ids] of named.entries())
    if (ids.some((id) => find(id) === undefined)) throw atChange(unseen(), position);
  const joining = changes.filter(({ operation }) => operation.method === "POST").flatMap(idsIn);
  const joiningIds = new Set(joining.map((id) => find(id)?.membershipId));
  const names = new Set(changes.flatMap(idsIn).map(fold));
  return members.map((member) => ({
    ...member,
    isJoining: joiningIds.has(member.membershipId),
    isCalledByName: names.has(member.usernameKey ?? ""),
  }));
}

/** `find`: by any id or name that a change can call a member. */
async function lookUpMembers(tx: Tx, organizationId: string, changes: readonly ParsedChange[]) {
  const idsBy = (kind: "users" | "organization-memberships") =>
    changes.filter((change) => membersOf(change)?.by === kind).flatMap(idsIn);
  const [users, memberships] = [idsBy("users"), idsBy("organization-memberships")];
  const members =
    users.length + memberships.length === 0 ? [] : await findNamedMembers(tx, organizationId, users, memberships);
  const byName = new Map(
    members.flatMap((member) =>
      [member.membershipId, member.userId, member.usernameKey].map((name) => [name, member] as const),
    ),
  );
  return { members, find: (name: string) => byName.get(name) ?? byName.get(fold(name)) };
}

/**
 * The first change that names somebody who is not clearly a person of the request: a username that another account has by now, or an
 * invitation, because anybody who has its link can accept it, the approver included.
 */
export async function findUnclearMember(
  tx: Tx,
  { id: requestId, organizationId }: { readonly id: string; readonly organizationId: string },
  { changes, positions }: StoredChanges,
): Promise<{ readonly position: number; readonly reason: string } | undefined> {
  const { members, find } = await lookUpMembers(tx, organizationId, changes);
  if (members.length === 0) return undefined;
  const known = await findNamedUserIds(tx, requestId);
  for (const [index, change] of changes.entries()) {
    for (const name of idsIn(change)) {
      const member = find(name);
      const reason = member && reasonOf(name, member, known, change);
      if (reason !== undefined) return { position: positions[index] ?? index, reason };
    }
  }
  return undefined;
}

function reasonOf(
  name: string,
  { userId, membershipId }: ReferencedMember,
  known: ReadonlySet<string>,
  { operation }: ParsedChange,
): string | undefined {
  if (userId === null)
    return operation.method === "POST"
      ? "It adds an invited person, who has not joined the organization yet"
      : undefined;
  const isById = name === userId || name === membershipId;
  return isById || known.has(userId) ? undefined : `The username ${quoted(name)} belongs to another account by now`;
}
