/**
 * Whom a provider speaks for. One of the site: everybody whom it has linked, and whoever has the address that it has verified. One of an
 * organization: people of that organization alone, never a site admin and nobody who is in another organization, whatever it says. See
 * docs/decisions/0122-whom-a-provider-speaks-for.md.
 */
import { type AppError, forbidden } from "../../../kernel/errors.ts";
import type { Identity } from "./claims.ts";
import type { SsoProviderView } from "./definition.ts";
import type { Candidate } from "./store.ts";

/** The user who signs in; undefined for one who is to be made. Raises `forbidden`. */
export function whoSignsIn(
  provider: SsoProviderView,
  identity: Identity,
  candidates: readonly Candidate[],
): Candidate | undefined {
  const linked = candidates.find(({ isLinked }) => isLinked === 1);
  if (linked !== undefined) return spokenFor(provider, linked);
  refuseUnverified(provider, identity);
  const [found] = candidates;
  if (found !== undefined) return spokenFor(provider, byAddress(provider, found));
  if (provider.createUsers === 1) return undefined;
  throw forbidden(
    `Nobody here has the address that ${provider.name} tells of you, and it may not make users. Ask a site admin to add you.`,
  );
}

/** Whoever can write any address into a profile would be whoever has it here. */
function refuseUnverified({ name }: SsoProviderView, { email, isEmailVerified }: Identity): void {
  if (email === undefined)
    throw forbidden(
      `${name} does not tell your e-mail address, by which you would be known here. Ask a site admin: the scope 'email' may be missing.`,
    );
  if (!isEmailVerified)
    throw forbidden(
      `${name} does not say that your e-mail address is verified, so it can't be taken for yours. Verify it there, or ask a site admin.`,
    );
}

const ofOthers = ({ name }: SsoProviderView): AppError =>
  forbidden(
    `An account with your address is there already, and ${name} may not speak for it. Sign in the way you did before, or ask a site admin.`,
  );

/** The first time, by the address alone. */
function byAddress(provider: SsoProviderView, found: Candidate): Candidate {
  const isTheirs =
    provider.organizationId === null
      ? found.managedById === null
      : found.isMember > 0 && (found.managedById === null || found.managedById === provider.organizationId);
  if (!isTheirs) throw ofOthers(provider);
  return found;
}

/** Every time: people change, and so does how far they reach. */
function spokenFor(provider: SsoProviderView, user: Candidate): Candidate {
  const { organizationId, organizationName, name, createUsers } = provider;
  if (organizationId === null) return user;
  if (user.isSiteAdmin === 1 || user.elsewhere > 0)
    throw forbidden(
      `${name} signs in to the organization ${organizationName} alone, and your account reaches further. Sign in by your password, or by a provider of the site.`,
    );
  if (user.isMember === 0 && createUsers === 0)
    throw forbidden(`You are no member of the organization ${organizationName} any more. Ask one of its owners.`);
  return user;
}
