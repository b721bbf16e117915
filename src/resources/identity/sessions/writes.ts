/** What neighbours, the first start and the command line have done to passwords and sessions. */
import type { Actor } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { hashPassword } from "../../../kernel/passwords.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { endSessions, issueToken } from "../authentication-tokens/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { SessionView } from "./definition.ts";
import { sessionEnd, type Signing } from "./rules.ts";
import { putPassword } from "./store.ts";
import { passwordFaults } from "./strength.ts";

/** A password with its hash, which takes a moment and is made before any transaction. */
export interface NewPassword {
  readonly password: string;
  readonly hash: string;
}

export async function newPasswordOf(password: string): Promise<NewPassword> {
  return { password, hash: await hashPassword(password) };
}

/** Whoever knew the one before is no longer signed in anywhere. Raises `invalid` for one that is too weak. */
export async function setPassword(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  user: Granted<UserTable, "can-update" | "can-administer">,
  { password, hash }: NewPassword,
): Promise<void> {
  refuseIfAny(passwordFaults(password, user));
  await putPassword(tx, user, hash);
  // The trail says that it was replaced, never by what.
  await recordEvent(tx, context, {
    organizationId: null,
    verb: "set-password",
    subject: { type: "users", id: user.id },
    after: { "replaced-secrets": ["password"] },
  });
  await endSessions(tx, context, user);
}

/** The browser is told after the commit, and never before. */
export async function beginSession(context: Context, user: Granted<Signing, "can-sign-in">): Promise<SessionView> {
  const id = newId("sessions");
  const { browser, options } = context;
  const actor: Actor = {
    kind: "user",
    userId: user.id,
    name: user.username,
    siteAdmin: user.isSiteAdmin === 1,
    tokenId: id,
    tokenAgeMs: 0,
  };
  const expiredAt = sessionEnd(now(), options.sessionHours);
  const session = await context.database.write((tx) =>
    issueToken(tx, { ...context, actor }, user, {
      id,
      holder: { kind: "session", userId: user.id },
      isLegacy: false,
      description: browser?.name ?? null,
      expiredAt,
    }),
  );
  browser?.keep(session.secret, expiredAt);
  return { ...session, userId: user.id, isCurrent: true };
}
