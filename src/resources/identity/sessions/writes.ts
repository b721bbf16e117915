/** Writes to passwords and sessions for other modules, the first start and the command line. */
import type { Actor } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { hashPassword, isPassword } from "../../../kernel/passwords.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { earlierExpiry } from "../authentication-tokens/rules.ts";
import { endSessions, lockToken, issueSignInToken } from "../authentication-tokens/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { SessionView } from "./definition.ts";
import { sessionExpiry, type SignInUser, wrongCredentials } from "./rules.ts";
import { upsertPassword } from "./store.ts";
import { passwordFaults } from "./password-strength.ts";

/** Hashing is slow: do it before a transaction starts. */
export interface NewPassword {
  readonly password: string;
  readonly hash: string;
}

export async function hashNewPassword(password: string): Promise<NewPassword> {
  return { password, hash: await hashPassword(password) };
}

/** Limits the number of attempts. Throws `too-many-requests`. */
export async function verifyPassword(
  { signIns }: Pick<Context, "signIns">,
  name: string,
  password: string,
  stored: () => Promise<string | undefined>,
): Promise<boolean> {
  const verify = async () => isPassword(password, await stored());
  return signIns === undefined ? verify() : signIns.attempt(name, verify);
}

/** Also ends all of the user's sessions. Throws `invalid` if the password is too weak. */
export async function setPassword(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  user: Granted<UserTable, "can-update" | "can-administer" | "can-accept">,
  { password, hash }: NewPassword,
): Promise<void> {
  throwIfInvalid(passwordFaults(password, user));
  await upsertPassword(tx, user, hash);
  await recordEvent(tx, context, {
    organizationId: null,
    verb: "set-password",
    subject: { type: "users", id: user.id },
    after: { "replaced-secrets": ["password"] },
  });
  await endSessions(tx, context, user);
}

export const sessionActor = (user: SignInUser, tokenId: string): Actor => ({
  kind: "user",
  userId: user.id,
  name: user.username,
  siteAdmin: user.isSiteAdmin === 1,
  tokenId,
  tokenAgeMs: 0,
});

export async function startSession(context: Context, user: Granted<SignInUser, "can-sign-in">): Promise<SessionView> {
  const id = newId("sessions");
  const asUser = { ...context, actor: sessionActor(user, id) };
  const session = await context.database.write((tx) => issueSession(tx, asUser, user, id));
  return setSessionCookie(context, session);
}

export type IssuedSession = SessionView & { readonly secret: string };

/** Throws `unauthorized` if the token that starts the session no longer exists. */
export async function issueSession(
  tx: Tx,
  context: Context,
  user: Granted<SignInUser, "can-sign-in">,
  id: string,
): Promise<IssuedSession> {
  const { byTokenId } = user;
  const token = byTokenId === undefined ? undefined : await lockToken(tx, byTokenId);
  if (byTokenId !== undefined && token === undefined) throw wrongCredentials();
  const session = await issueSignInToken(tx, context, user, {
    id,
    holder: { kind: "session", userId: user.id },
    isLegacy: false,
    description: context.browser?.name ?? null,
    begunById: token?.id,
    expiredAt: earlierExpiry(sessionExpiry(now(), context.options.sessionHours), token?.expiredAt ?? undefined),
  });
  return { ...session, userId: user.id, isCurrent: true };
}

/** Call after the commit, so that the browser never gets the cookie of a session that wasn't stored. */
export function setSessionCookie({ browser }: Context, session: IssuedSession): SessionView {
  if (session.expiredAt !== null) browser?.setSessionCookie(session.secret, session.expiredAt);
  return session;
}
