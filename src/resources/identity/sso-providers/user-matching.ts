/** Decides which user an SSO provider may sign in, by the rules in docs/decisions/0122-trust-in-identity-providers.md. */
import { type AppError, forbidden } from "../../../kernel/errors.ts";
import type { SsoIdentity } from "./claims.ts";
import type { SsoProviderView } from "./definition.ts";
import type { SignInCandidate } from "./store.ts";

export function matchUser(
  provider: SsoProviderView,
  identity: SsoIdentity,
  candidates: readonly SignInCandidate[],
): SignInCandidate | undefined {
  const linked = candidates.find(({ isLinked }) => isLinked === 1);
  if (linked !== undefined) return checkProviderScope(provider, linked);
  refuseUnverified(provider, identity);
  const [found] = candidates;
  if (found !== undefined) return checkProviderScope(provider, matchByAddress(provider, found));
  if (provider.createUsers === 1) return undefined;
  throw forbidden(
    `No user has the email address that ${provider.name} reports, and this SSO provider doesn't create users. Ask a site admin to add you.`,
  );
}

function refuseUnverified({ name }: SsoProviderView, { email, isEmailVerified }: SsoIdentity): void {
  if (email === undefined)
    throw forbidden(
      `${name} did not send your email address, which is needed to sign in. Ask a site admin to check the SSO provider: the scope 'email' may be missing.`,
    );
  if (!isEmailVerified)
    throw forbidden(`${name} has not verified your email address. Verify it there, or ask a site admin.`);
}

const accountOfOthers = ({ name }: SsoProviderView): AppError =>
  forbidden(
    `A user with your email address already exists, and ${name} can't sign in as that user. Sign in the way you did before, or ask a site admin.`,
  );

function matchByAddress(provider: SsoProviderView, found: SignInCandidate): SignInCandidate {
  const isAllowed =
    provider.organizationId === null
      ? found.managedById === null
      : found.isMember > 0 && (found.managedById === null || found.managedById === provider.organizationId);
  if (!isAllowed) throw accountOfOthers(provider);
  return found;
}

/** Checked at every sign-in, because memberships change. */
function checkProviderScope(provider: SsoProviderView, user: SignInCandidate): SignInCandidate {
  const { organizationId, organizationName, name, createUsers } = provider;
  if (organizationId === null) return user;
  if (user.isSiteAdmin === 1 || user.otherOrganizationCount > 0)
    throw forbidden(
      `${name} can only sign in to the organization ${organizationName}, and your account has access beyond it. Sign in with your password, or through an SSO provider of the site.`,
    );
  if (user.isMember === 0 && createUsers === 0)
    throw forbidden(`You are no longer a member of the organization ${organizationName}. Ask one of its owners.`);
  return user;
}
