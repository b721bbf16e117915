/** Operations on sessions. */
import type { Actor } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import { tokenHash } from "../../../kernel/ids.ts";
import { authenticateToken } from "../authentication-tokens/reads.ts";
import { endSession, endSessions } from "../authentication-tokens/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { sessions, type SessionView } from "./definition.ts";
import { type SignInUser, authorizeSignIn, signOutUrlOwner, wrongCredentials } from "./rules.ts";
import { findSignInUser, findSessionSignOut, listSessionRows, type SignInUserRow } from "./store.ts";
import { startSession, verifyPassword } from "./writes.ts";

export const sessionResource = implement(sessions, {
  async createSession({ context, body }) {
    const user = await identifyUser(context, body.attributes);
    return { view: await startSession(context, user) };
  },

  async listSessions({ context, query }) {
    const user = requireUser(context.actor);
    const { rows, totalCount } = await listSessionRows(context.database.reader, user.id, query.page);
    const isCurrent = ({ id }: { id: string }) => id === user.tokenId;
    return { views: rows.map((row) => ({ ...row, userId: user.id, isCurrent: isCurrent(row) })), totalCount };
  },

  async deleteSession({ context, params }) {
    const user = requireUser(context.actor);
    const isCurrent = params.sessionId === user.tokenId;
    const signOut = await context.database.write(async (tx) => {
      const session = isCurrent ? await loadSignOut(tx, context, user.tokenId) : undefined;
      if (!(await endSession(tx, context, user, params.sessionId))) throw notFound("session");
      return session;
    });
    if (isCurrent) context.browser?.clearSessionCookie();
    return toEndedSession(user, signOut);
  },

  async deleteSessions({ context }) {
    const user = requireUser(context.actor);
    const signOut = await context.database.write(async (tx) => {
      const session = await loadSignOut(tx, context, user.tokenId);
      await endSessions(tx, context, user);
      return session;
    });
    context.browser?.clearSessionCookie();
    return toEndedSession(user, signOut);
  },
});

async function loadSignOut(tx: Tx, { vault }: Context, tokenId: string) {
  const found = await findSessionSignOut(tx, tokenId);
  if (found === undefined) return undefined;
  const { signOutUrl, ...session } = found;
  return { ...session, signOutUrl: Buffer.from(vault.open(signOutUrlOwner(tokenId), signOutUrl)).toString("utf8") };
}

function toEndedSession(user: SessionOwner, signOut: Awaited<ReturnType<typeof loadSignOut>>): { view: SessionView } {
  if (signOut === undefined) return undefined as never;
  return { view: { ...signOut, userId: user.id, isCurrent: false } };
}

type SessionOwner = Granted<{ readonly id: string; readonly tokenId: string }, "can-manage">;

/** Throws `not-found` if the caller is not a user. */
function requireUser(actor: Actor): SessionOwner {
  if (actor.kind !== "user") throw notFound("session");
  const user = { id: actor.userId, tokenId: actor.tokenId };
  return authorize(user, { thing: "session", permission: "can-manage", visible: true, allowed: true, needs: "a user" });
}

async function identifyUser(
  context: Context,
  { username = "", password = "", token }: CreateAttributes<typeof sessions>,
): Promise<Granted<SignInUser, "can-sign-in">> {
  if (token !== undefined) return authorizeSignIn(await userOfToken(context, token), true);
  let user: SignInUserRow | undefined;
  const isCorrect = await verifyPassword(context, username, password, async () => {
    user = await findSignInUser(context.database.reader, username);
    return user?.passwordHash ?? undefined;
  });
  return authorizeSignIn(user, isCorrect);
}

async function userOfToken({ database, signIns }: Context, token: string): Promise<SignInUser> {
  signIns?.check();
  const actor = (await authenticateToken(database.reader, tokenHash(token)))?.actor;
  if (actor?.kind === "user")
    return { id: actor.userId, username: actor.name, isSiteAdmin: Number(actor.siteAdmin), byTokenId: actor.tokenId };
  signIns?.recordFailure();
  throw wrongCredentials();
}
