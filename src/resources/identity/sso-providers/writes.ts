/** Signs a user in through an SSO provider, and updates the user's teams from the groups. */
import { type RawBuilder, sql } from "kysely";
import { grant, type Granted } from "../../../access/granted.ts";
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { newId, tokenHash } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import {
  ensureMemberships,
  type LockedOrganizations,
  lockOrganizations,
  incrementMembershipVersions,
} from "../organization-memberships/writes.ts";
import { issueSession, setSessionCookie, sessionActor } from "../sessions/writes.ts";
import { teamIdsOfGroups } from "../teams/reads.ts";
import { loadGroupSyncPlan, type SsoGroupMember, applyGroupSync } from "../teams/writes.ts";
import { findTakenUsernames } from "../users/reads.ts";
import { newUser } from "../users/rules.ts";
import { addSsoUser, setManagingOrganization } from "../users/writes.ts";
import { firstFreeName, type SsoIdentity, usernameCandidates } from "./claims.ts";
import { type SsoFlow, newFlow, openFlow, sealFlow } from "./flow.ts";
import {
  authorizationUrl,
  type CallbackRequest,
  identityFromCallback,
  type SsoProviderWithSecret,
  type SsoSignInResult,
} from "./relying-party.ts";
import { signOutUrlOwner } from "../sessions/rules.ts";
import {
  findCandidates,
  findProviderWithSecret,
  lockProvider,
  insertIdentity,
  insertSsoSession,
  recordCallback,
  type SsoSubject,
} from "./store.ts";
import { matchUser } from "./user-matching.ts";

export async function beginSignIn(
  context: Context,
  providerId: string,
  returnTo: string,
): Promise<{ url: string; sealedFlow: string }> {
  const provider = await loadProvider(context, providerId);
  const flow = newFlow(provider.id, returnTo);
  return { url: (await authorizationUrl(context, provider, flow)).href, sealedFlow: sealFlow(context.vault, flow) };
}

export interface SsoCallback extends CallbackRequest {
  readonly sealedFlow: string | undefined;
}

export async function finishSignIn(context: Context, reply: SsoCallback): Promise<{ returnTo: string }> {
  const { sealedFlow, query } = reply;
  context.signIns?.check();
  try {
    const flow = flowOf(context, sealedFlow, query);
    const provider = await loadProvider(context, flow.providerId);
    await refuseReplay(context, flow);
    const returned = await identityFromCallback(context, provider, flow, reply);
    // The browser was forwarded to another provider, whose code must not be sent to this one.
    if (returned === undefined) throw restartSignIn();
    await signIn(context, provider, returned);
    return { returnTo: flow.returnTo };
  } catch (error) {
    if (error instanceof AppError && error.code === "unauthorized") context.signIns?.recordFailure();
    throw error;
  }
}

const restartSignIn = (): AppError =>
  new AppError(
    "unauthorized",
    "This sign-in was not started in this browser, has expired, or was already used. Start again from the sign-in page.",
  );

function flowOf({ vault }: Context, sealedFlow: string | undefined, query: string): SsoFlow {
  const flow = openFlow(vault, sealedFlow);
  const [state, ...others] = new URLSearchParams(query).getAll("state");
  // Compares hashes, so that the timing reveals nothing.
  const isSame = flow !== undefined && state !== undefined && tokenHash(flow.state) === tokenHash(state);
  if (!isSame || others.length > 0) throw restartSignIn();
  return flow;
}

/** Each callback works once, on any server. Raises `unauthorized`. */
async function refuseReplay({ database }: Context, { state, until }: SsoFlow): Promise<void> {
  const expiresAt = new Date(until).toISOString();
  const isFirst = await database.write((tx) => recordCallback(tx, tokenHash(state), expiresAt), { keepsCache: true });
  if (!isFirst) throw restartSignIn();
}

async function loadProvider({ database }: Context, id: string): Promise<SsoProviderWithSecret> {
  const provider = await findProviderWithSecret(database.reader, id);
  if (provider === undefined) throw unknownProvider();
  return provider;
}

const unknownProvider = () => notFound("SSO provider");

/** Retries once: of two concurrent first sign-ins, the second finds the user that the first created. */
async function signIn(context: Context, provider: SsoProviderWithSecret, returned: SsoSignInResult): Promise<void> {
  const attempt = () => signInOnce(context, provider, returned);
  await attempt().catch((error: unknown) => {
    if (error instanceof AppError && error.code === "invalid") return attempt();
    throw error;
  });
}

const grantSsoSignIn = <Row extends object>(row: Row): Granted<Row, "can-sign-in"> =>
  grant(row, { thing: "user", permission: "can-sign-in", visible: true, allowed: true, needs: "an SSO provider" });

type SsoUser = Granted<UserTable, "can-sign-in">;

async function signInOnce(
  context: Context,
  provider: SsoProviderWithSecret,
  { identity, signOutUrl }: SsoSignInResult,
): Promise<void> {
  const tokenId = newId("sessions");
  const { id: ssoProviderId, organizationId } = provider;
  const subject = { ssoProviderId, issuer: identity.issuer, subject: identity.subject };
  const emailKey = identity.email === undefined ? undefined : fold(identity.email);
  const session = await context.database.write(async (tx) => {
    const known = matchUser(provider, identity, await findCandidates(tx, subject, emailKey, organizationId));
    const user = grantSsoSignIn<UserTable>(known ?? (await newSsoUser(tx, provider, identity)));
    const own = { ...context, actor: sessionActor(user, tokenId) };
    const person = groupMemberOf(provider, identity, user);
    const locked = await lockOrganizations(tx, {
      ...(known === undefined && { emailKey: user.emailKey }),
      further: affectedOrganizations(tx, person),
    });
    if (known === undefined) await addSsoUser(tx, own, grantUserCreation(provider), user, locked);
    else if (organizationId !== null && known.isLinked === 0)
      await setManagingOrganization(tx, own, user, organizationId);
    await syncTeams(tx, own, person, user, locked);
    if (!(await lockProvider(tx, ssoProviderId))) throw unknownProvider();
    if (known?.isLinked !== 1) await linkIdentity(tx, own, user, subject, organizationId);
    const started = await issueSession(tx, own, user, tokenId);
    const sealedUrl =
      signOutUrl === undefined ? null : context.vault.seal(signOutUrlOwner(tokenId), Buffer.from(signOutUrl));
    await insertSsoSession(tx, user, { tokenId, ssoProviderId, signOutUrl: sealedUrl });
    return started;
  });
  setSessionCookie(context, session);
}

async function newSsoUser(
  tx: Tx,
  { organizationId }: SsoProviderWithSecret,
  identity: SsoIdentity,
): Promise<UserTable> {
  const names = usernameCandidates(identity);
  const username = firstFreeName(names, await findTakenUsernames(tx, names));
  return { ...newUser({ username, email: identity.email ?? "" }), managedById: organizationId };
}

const grantUserCreation = (provider: SsoProviderWithSecret): Granted<SsoProviderWithSecret, "can-create-users"> =>
  grant(provider, {
    thing: "SSO provider",
    permission: "can-create-users",
    visible: true,
    allowed: provider.createUsers === 1,
    needs: "create-users",
  });

function groupMemberOf(
  provider: SsoProviderWithSecret,
  { groups }: SsoIdentity,
  { id, username }: SsoUser,
): SsoGroupMember {
  const { id: providerId, name: providerName, organizationId } = provider;
  return grantSsoSignIn({ userId: id, username, providerId, providerName, organizationId, groups });
}

function affectedOrganizations(tx: Tx, person: SsoGroupMember): RawBuilder<string> {
  const { organizationId } = person;
  const ownOrganization = organizationId === null ? sql`` : sql`union select cast(${organizationId} as text)`;
  return sql<string>`(select organization_id from teams where id in ${teamIdsOfGroups(tx.dialect, person)} ${ownOrganization})`;
}

/** Raises `Overtaken`. */
async function syncTeams(
  tx: Tx,
  context: Context,
  person: SsoGroupMember,
  user: SsoUser,
  locked: LockedOrganizations,
): Promise<void> {
  const seating = await loadGroupSyncPlan(tx, person);
  const { joining, renamed, leaving } = seating;
  if (![...joining, ...renamed, ...leaving].every(({ organizationId }) => locked.has(organizationId)))
    throw new Overtaken("a team was mapped to a group at the same time");
  const { organizationId } = person;
  const newOrganizations = joining
    .filter(({ membershipId }) => membershipId === null)
    .map((team) => team.organizationId);
  const organizationIds = new Set([...(organizationId === null ? [] : [organizationId]), ...newOrganizations]);
  const { memberships, created } = await ensureMemberships(tx, context, user, [...organizationIds]);
  const moved = await applyGroupSync(tx, context, person, seating, memberships);
  const changed = moved.filter((id) => !created.has(id));
  if (changed.length > 0) await incrementMembershipVersions(tx, changed);
}

async function linkIdentity(
  tx: Tx,
  context: Context,
  user: SsoUser,
  known: SsoSubject,
  organizationId: string | null,
): Promise<void> {
  await insertIdentity(tx, user, known);
  await recordEvent(tx, context, {
    organizationId,
    verb: "link-identity",
    subject: { type: "users", id: user.id },
    after: { provider: known.ssoProviderId, issuer: known.issuer, subject: known.subject },
  });
}
