/** Pure rules of sessions. */
import { grant, type Granted } from "../../../access/granted.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { AppError } from "../../../kernel/errors.ts";

/** Who a person is, as far as signing in needs it. */
export type Signing = Pick<UserTable, "id" | "username" | "isSiteAdmin"> & {
  /** Whom a token stands for who shows that instead of a password. */
  readonly byTokenId?: string;
};

/** Which part was wrong is nobody's business. */
export const wrongCredentials = (): AppError =>
  new AppError(
    "unauthorized",
    "Wrong username, password or token. Check what you entered; a site admin can set a new password.",
  );

/** The proof that somebody showed who they are. Raises `unauthorized`. */
export function signedIn<User extends Signing>(user: User | undefined, isRight: boolean): Granted<User, "can-sign-in"> {
  if (user === undefined || !isRight) throw wrongCredentials();
  return grant(user, { thing: "user", permission: "can-sign-in", visible: true, allowed: true, needs: "a password" });
}

const hourMs = 3_600_000;
const sessionHoursByDefault = 7 * 24;

export const sessionEnd = (createdAt: string, hours = sessionHoursByDefault): string =>
  new Date(Date.parse(createdAt) + hours * hourMs).toISOString();

/** The same for where a session is signed out of at its provider. */
export const signOutOwner = (tokenId: string): string => `sso_sessions/${tokenId}/sign_out_url`;
