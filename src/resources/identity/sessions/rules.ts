/** Pure rules of sessions. */
import { authorize, type Granted } from "../../../access/granted.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { AppError } from "../../../kernel/errors.ts";

export type SignInUser = Pick<UserTable, "id" | "username" | "isSiteAdmin"> & {
  readonly byTokenId?: string;
};

/** Must not reveal which part was wrong. */
export const wrongCredentials = (): AppError =>
  new AppError(
    "unauthorized",
    "Wrong username, password or token. Check what you entered, or ask a site admin to set a new password.",
  );

/** Proof that the user was authenticated. Throws `unauthorized`. */
export function authorizeSignIn<User extends SignInUser>(
  user: User | undefined,
  isAuthenticated: boolean,
): Granted<User, "can-sign-in"> {
  if (user === undefined || !isAuthenticated) throw wrongCredentials();
  return authorize(user, {
    thing: "user",
    permission: "can-sign-in",
    visible: true,
    allowed: true,
    needs: "a password",
  });
}

const hourMs = 3_600_000;
const defaultSessionHours = 7 * 24;

export const sessionExpiry = (createdAt: string, hours = defaultSessionHours): string =>
  new Date(Date.parse(createdAt) + hours * hourMs).toISOString();

export const signOutUrlOwner = (tokenId: string): string => `sso_sessions/${tokenId}/sign_out_url`;
