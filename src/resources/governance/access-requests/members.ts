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

/** Throws `not-found` if a change names a user outside of the organization, except `exceptIds`. */
export async function loadNamedMembers(
  tx: Tx,
  organizationId: string,
  changes: readonly ParsedChange[],
  exceptIds: readonly string[] = [],
): Promise<MemberOfChanges[]> {
  const named = changes.map((change) => membersOf(change)?.ids.filter((id) => !exceptIds.includes(id)) ?? []);
  if (named.every((ids) => ids.length === 0)) return [];
  const byName = await membersByName(tx, organizationId, changes);
  for (const [position, ids] of named.entries())
    if (ids.some((id) => !byName.has(id) && !byName.has(fold(id)))) throw atChange(unseen(), position);
  const sent = changes.map((change) => ({ change, ids: membersOf(change)?.ids ?? [] }));
  const joining = sent.flatMap(({ change, ids }) => (change.operation.method === "POST" ? ids : []));
  const isJoining = new Set(joining.map((id) => (byName.get(id) ?? byName.get(fold(id)))?.membershipId));
  const names = new Set(sent.flatMap(({ ids }) => ids.map(fold)));
  return [...new Set(byName.values())].map((member) => ({
    ...member,
    isJoining: isJoining.has(member.membershipId),
    isCalledByName: names.has(member.usernameKey ?? ""),
  }));
}

/** By each id and name that a change can call them. */
async function membersByName(
  tx: Tx,
  organizationId: string,
  changes: readonly ParsedChange[],
): Promise<ReadonlyMap<string, ReferencedMember>> {
  const idsBy = (kind: "users" | "organization-memberships") =>
    changes.flatMap((change) => {
      const members = membersOf(change);
      return members?.by === kind ? members.ids : [];
    });
  const [users, memberships] = [idsBy("users"), idsBy("organization-memberships")];
  if (users.length + memberships.length === 0) return new Map();
  const found = await findNamedMembers(tx, organizationId, users, memberships);
  return new Map(
    found.flatMap((member) =>
      [member.membershipId, member.userId, member.usernameKey].flatMap((name) =>
        name === null ? [] : [[name, member] as const],
      ),
    ),
  );
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
  const byName = await membersByName(tx, organizationId, changes);
  if (byName.size === 0) return undefined;
  const known = await findNamedUserIds(tx, requestId);
  for (const [index, change] of changes.entries()) {
    const members = membersOf(change);
    for (const name of members?.ids ?? []) {
      const member = byName.get(name) ?? byName.get(fold(name));
      if (member === undefined) continue;
      const reason = reasonOf(name, member, known, change);
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
