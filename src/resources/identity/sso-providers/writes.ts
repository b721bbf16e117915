/**
 * Signs a user in through an SSO provider: finds the linked user, else one with the same verified email address, else creates one, then
 * updates the user's teams from the groups. One transaction with a constant number of statements.
 */
import { type RawBuilder, sql } from "kysely";
import { grant, type Granted } from "../../../access/granted.ts";
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { newId, tokenHash } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { admitMembers, type Held, holdOrganizations, raiseMemberships } from "../organization-memberships/writes.ts";
import { issueSession, keepSession, sessionActor } from "../sessions/writes.ts";
import { teamsOfGroups } from "../teams/reads.ts";
import { findGroupSeating, type GroupedPerson, seatByGroups } from "../teams/writes.ts";
import { namesTaken } from "../users/reads.ts";
import { newUser } from "../users/rules.ts";
import { addProvidedUser, putUnderManagement } from "../users/writes.ts";
import { freeName, type Identity, namesToTry } from "./claims.ts";
import { type Flow, newFlow, openFlow, sealFlow } from "./flow.ts";
import { authorizationUrl, type Brought, identityReturned, type Provider, type Returned } from "./relying-party.ts";
import { signOutOwner } from "../sessions/rules.ts";
import {
  findCandidates,
  findProviderToAsk,
  holdProvider,
  insertIdentity,
  insertSsoSession,
  noteReply,
  type Subject,
} from "./store.ts";
import { whoSignsIn } from "./who.ts";

export async function beginSignIn(
  context: Context,
  providerId: string,
  returnTo: string,
): Promise<{ url: string; sealedFlow: string }> {
  const provider = await loadProvider(context, providerId);
  const flow = newFlow(provider.id, returnTo);
  return { url: (await authorizationUrl(context, provider, flow)).href, sealedFlow: sealFlow(context.vault, flow) };
}

/** `query` is unchanged from the provider's redirect. */
export interface Reply extends Brought {
  readonly sealedFlow: string | undefined;
}

export async function finishSignIn(context: Context, reply: Reply): Promise<{ returnTo: string }> {
  const { sealedFlow, query } = reply;
  context.signIns?.check();
  try {
    const flow = flowOf(context, sealedFlow, query);
    const provider = await loadProvider(context, flow.providerId);
    await refuseRepetition(context, flow);
    const returned = await identityReturned(context, provider, flow, reply);
    // The browser was forwarded to another provider, whose code must not be sent to this one.
    if (returned === undefined) throw beginAgain();
    await signIn(context, provider, returned);
    return { returnTo: flow.returnTo };
  } catch (error) {
    if (error instanceof AppError && error.code === "unauthorized") context.signIns?.failed();
    throw error;
  }
}

const beginAgain = (): AppError =>
  new AppError(
    "unauthorized",
    "This sign-in was not started in this browser, has expired, or was already used. Start again from the sign-in page.",
  );

function flowOf({ vault }: Context, sealedFlow: string | undefined, query: string): Flow {
  const flow = openFlow(vault, sealedFlow);
  const [state, ...others] = new URLSearchParams(query).getAll("state");
  // Compares hashes, so that the timing reveals nothing.
  const isSame = flow !== undefined && state !== undefined && tokenHash(flow.state) === tokenHash(state);
  if (!isSame || others.length > 0) throw beginAgain();
  return flow;
}

/** Each callback works once, on any server. Raises `unauthorized`. */
async function refuseRepetition({ database }: Context, { state, until }: Flow): Promise<void> {
  const expiresAt = new Date(until).toISOString();
  const isFirst = await database.write((tx) => noteReply(tx, tokenHash(state), expiresAt), { isUnseen: true });
  if (!isFirst) throw beginAgain();
}

async function loadProvider({ database }: Context, id: string): Promise<Provider> {
  const provider = await findProviderToAsk(database.reader, id);
  if (provider === undefined) throw unknownProvider();
  return provider;
}

const unknownProvider = () => notFound("SSO provider");

/** Retries once: of two concurrent first sign-ins of a person, the second finds the user that the first has created. */
async function signIn(context: Context, provider: Provider, returned: Returned): Promise<void> {
  const attempt = () => signInOnce(context, provider, returned);
  await attempt().catch((error: unknown) => {
    if (error instanceof AppError && error.code === "invalid") return attempt();
    throw error;
  });
}

const proven = <Row extends object>(row: Row): Granted<Row, "can-sign-in"> =>
  grant(row, { thing: "user", permission: "can-sign-in", visible: true, allowed: true, needs: "an SSO provider" });

type SignedIn = Granted<UserTable, "can-sign-in">;

async function signInOnce(context: Context, provider: Provider, { identity, signOutUrl }: Returned): Promise<void> {
  const tokenId = newId("sessions");
  const { id: ssoProviderId, organizationId } = provider;
  const subject = { ssoProviderId, issuer: identity.issuer, subject: identity.subject };
  const emailKey = identity.email === undefined ? undefined : fold(identity.email);
  const session = await context.database.write(async (tx) => {
    const known = whoSignsIn(provider, identity, await findCandidates(tx, subject, emailKey, organizationId));
    const user = proven<UserTable>(known ?? (await newcomer(tx, provider, identity)));
    const own = { ...context, actor: sessionActor(user, tokenId) };
    const person = personOf(provider, identity, user);
    const locked = await holdOrganizations(tx, {
      ...(known === undefined && { emailKey: user.emailKey }),
      further: organizationsOf(tx, person),
    });
    if (known === undefined) await addProvidedUser(tx, own, makingUsers(provider), user, locked);
    else if (organizationId !== null && known.isLinked === 0) await putUnderManagement(tx, own, user, organizationId);
    await settle(tx, own, person, user, locked);
    if (!(await holdProvider(tx, ssoProviderId))) throw unknownProvider();
    if (known?.isLinked !== 1) await link(tx, own, user, subject, organizationId);
    const started = await issueSession(tx, own, user, tokenId);
    const sealedUrl =
      signOutUrl === undefined ? null : context.vault.seal(signOutOwner(tokenId), Buffer.from(signOutUrl));
    await insertSsoSession(tx, user, { tokenId, ssoProviderId, signOutUrl: sealedUrl });
    return started;
  });
  keepSession(context, session);
}

async function newcomer(tx: Tx, { organizationId }: Provider, identity: Identity): Promise<UserTable> {
  const names = namesToTry(identity);
  const username = freeName(names, await namesTaken(tx, names));
  return { ...newUser({ username, email: identity.email ?? "" }), managedById: organizationId };
}

const makingUsers = (provider: Provider): Granted<Provider, "can-create-users"> =>
  grant(provider, {
    thing: "SSO provider",
    permission: "can-create-users",
    visible: true,
    allowed: provider.createUsers === 1,
    needs: "create-users",
  });

function personOf(provider: Provider, { groups }: Identity, { id, username }: SignedIn): GroupedPerson {
  const { id: providerId, name: providerName, organizationId } = provider;
  return proven({ userId: id, username, providerId, providerName, organizationId, groups });
}

function organizationsOf(tx: Tx, person: GroupedPerson): RawBuilder<string> {
  const { organizationId } = person;
  const ownOrganization = organizationId === null ? sql`` : sql`union select cast(${organizationId} as text)`;
  return sql<string>`(select organization_id from teams where id in ${teamsOfGroups(tx.dialect, person)} ${ownOrganization})`;
}

/** Adds memberships that the provider or its groups require, then updates the user's teams. Raises `Overtaken`. */
async function settle(tx: Tx, context: Context, person: GroupedPerson, user: SignedIn, locked: Held): Promise<void> {
  const seating = await findGroupSeating(tx, person);
  const { joining, renamed, leaving } = seating;
  if (![...joining, ...renamed, ...leaving].every(({ organizationId }) => locked.has(organizationId)))
    throw new Overtaken("a team was mapped to a group at the same time");
  const { organizationId } = person;
  const newOrganizations = joining
    .filter(({ membershipId }) => membershipId === null)
    .map((team) => team.organizationId);
  const organizationIds = new Set([...(organizationId === null ? [] : [organizationId]), ...newOrganizations]);
  const { memberships, created } = await admitMembers(tx, context, user, [...organizationIds]);
  const moved = await seatByGroups(tx, context, person, seating, memberships);
  const changed = moved.filter((id) => !created.has(id));
  if (changed.length > 0) await raiseMemberships(tx, changed);
}

async function link(
  tx: Tx,
  context: Context,
  user: SignedIn,
  known: Subject,
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
