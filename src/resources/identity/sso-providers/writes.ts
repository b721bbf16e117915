/** Signs a user in through an SSO provider, and updates the user's teams from the groups. */
import { type RawBuilder, sql } from "kysely";
import { authorize, type Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
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
import { withoutForbiddenTeams } from "./forbidden-teams.ts";
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

export async function finishSignIn(context: Context, callback: SsoCallback): Promise<{ returnTo: string }> {
  const { sealedFlow, query } = callback;
  context.signIns?.check();
  try {
    const flow = flowOf(context, sealedFlow, query);
    const provider = await loadProvider(context, flow.providerId);
    await refuseReplay(context, flow);
    const signInResult = await identityFromCallback(context, provider, flow, callback);
    // The browser was forwarded to another provider, whose code must not be sent to this one.
    if (signInResult === undefined) throw restartSignIn();
    await signIn(context, provider, signInResult);
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

/** Each callback works once, on any server. Throws `unauthorized`. */
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
async function signIn(context: Context, provider: SsoProviderWithSecret, result: SsoSignInResult): Promise<void> {
  const attempt = () => signInOnce(context, provider, result);
  await attempt().catch((error: unknown) => {
    if (error instanceof AppError && error.code === "invalid") return attempt();
    throw error;
  });
}

const authorizeSsoSignIn = <Row extends object>(row: Row): Granted<Row, "can-sign-in"> =>
  authorize(row, { thing: "user", permission: "can-sign-in", visible: true, allowed: true, needs: "an SSO provider" });

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
    const matched = matchUser(provider, identity, await findCandidates(tx, subject, emailKey, organizationId));
    const user = authorizeSsoSignIn<UserTable>(matched ?? (await newSsoUser(tx, provider, identity)));
    const asUser = { ...context, actor: sessionActor(user, tokenId) };
    const person = groupMemberOf(provider, identity, user);
    const locked = await lockOrganizations(tx, {
      ...(matched === undefined && { emailKey: user.emailKey }),
      extraOrganizations: affectedOrganizations(tx, person),
    });
    if (matched === undefined) await addSsoUser(tx, asUser, authorizeUserCreation(provider), user, locked);
    else if (organizationId !== null && matched.isLinked === 0)
      await setManagingOrganization(tx, asUser, user, organizationId);
    await syncTeams(tx, asUser, person, user, locked);
    if (!(await lockProvider(tx, ssoProviderId))) throw unknownProvider();
    if (matched?.isLinked !== 1) await linkIdentity(tx, asUser, user, subject, organizationId);
    const issued = await issueSession(tx, asUser, user, tokenId);
    const sealedUrl =
      signOutUrl === undefined ? null : context.vault.seal(signOutUrlOwner(tokenId), Buffer.from(signOutUrl));
    await insertSsoSession(tx, user, { tokenId, ssoProviderId, signOutUrl: sealedUrl });
    return issued;
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

const authorizeUserCreation = (provider: SsoProviderWithSecret): Granted<SsoProviderWithSecret, "can-create-users"> =>
  authorize(provider, {
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
  return authorizeSsoSignIn({ userId: id, username, providerId, providerName, organizationId, groups });
}

function affectedOrganizations(tx: Tx, person: SsoGroupMember): RawBuilder<string> {
  const { organizationId } = person;
  const ownOrganization = organizationId === null ? sql`` : sql`union select cast(${organizationId} as text)`;
  return sql<string>`(select organization_id from teams where id in ${teamIdsOfGroups(tx.dialect, person)} ${ownOrganization})`;
}

/** Throws `RetryTransaction`. */
async function syncTeams(
  tx: Tx,
  context: Context,
  person: SsoGroupMember,
  user: SsoUser,
  locked: LockedOrganizations,
): Promise<void> {
  const wanted = await loadGroupSyncPlan(tx, person);
  const all = [...wanted.joining, ...wanted.renamed, ...wanted.leaving];
  if (!all.every(({ organizationId }) => locked.has(organizationId)))
    throw new RetryTransaction("a team was mapped to a group at the same time");
  const plan = await withoutForbiddenTeams(tx, context, person, wanted);
  const { organizationId } = person;
  const newOrganizations = plan.joining
    .filter(({ membershipId }) => membershipId === null)
    .map((team) => team.organizationId);
  const organizationIds = new Set([...(organizationId === null ? [] : [organizationId]), ...newOrganizations]);
  const { memberships, created } = await ensureMemberships(tx, context, user, [...organizationIds]);
  const changedIds = await applyGroupSync(tx, context, person, plan, memberships);
  const existingIds = changedIds.filter((id) => !created.has(id));
  if (existingIds.length > 0) await incrementMembershipVersions(tx, existingIds);
}

async function linkIdentity(
  tx: Tx,
  context: Context,
  user: SsoUser,
  subject: SsoSubject,
  organizationId: string | null,
): Promise<void> {
  await insertIdentity(tx, user, subject);
  await recordEvent(tx, context, {
    organizationId,
    verb: "link-identity",
    subject: { type: "users", id: user.id },
    after: { provider: subject.ssoProviderId, issuer: subject.issuer, subject: subject.subject },
  });
}
