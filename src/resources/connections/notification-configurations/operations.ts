/** Operations on notification configurations: load → authorize → verify the destination → load again, locked → write. */
import type { Tx } from "../../../database/database.ts";
import type { CreateAttributes, DocumentAnswer, ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { authorizeTeam, loadTeam, refuseShowingUnreadableAccess } from "../../identity/teams/reads.ts";
import { authorizeProject, loadProject } from "../../register/projects/reads.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { Verification } from "../../shared/outbox/delivery.ts";
import { recordVerification, listDeliveries } from "../../shared/outbox/writes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { type NotificationDestination, decryptToken, verify } from "./sender.ts";
import { notificationConfigurations, type NotificationConfigurationView as View } from "./definition.ts";
import { authorizeNotifying, loadConfiguration, loadForNotifying, type TeamWithStanding, toView } from "./reads.ts";
import {
  changedConfiguration,
  configurationFaults,
  configurationsMax,
  countInvited,
  needsVerification,
  newConfiguration,
  unknownUserFaults,
  tokenOwner,
  tooMany,
  urlOwner,
  type ConfigurationDraft,
} from "./rules.ts";
import * as store from "./store.ts";
import type { SubscribableType } from "./triggers.ts";
import { notificationKind } from "./writes.ts";

export const notificationConfigurationResource = implement(notificationConfigurations, {
  listWorkspaceNotificationConfigurations: ({ context, params, query }) =>
    list(context, ofWorkspace(params.workspaceId), query),
  createWorkspaceNotificationConfiguration: ({ context, params, body }) =>
    create(context, ofWorkspace(params.workspaceId), body),
  listProjectNotificationConfigurations: ({ context, params, query }) =>
    list(context, ofProject(params.projectId), query),
  createProjectNotificationConfiguration: ({ context, params, body }) =>
    create(context, ofProject(params.projectId), body),
  listTeamNotificationConfigurations: ({ context, params, query }) => list(context, ofTeam(params.teamId), query),
  createTeamNotificationConfiguration: ({ context, params, body }) => create(context, ofTeam(params.teamId), body),

  async showNotificationConfiguration({ context, params }) {
    const { view } = await loadConfiguration(context.database.reader, context, params.notificationConfigurationId);
    return { view };
  },

  async updateNotificationConfiguration({ context, params, body }) {
    const id = params.notificationConfigurationId;
    const change = (before: View) => changedConfiguration(before, body.attributes, body.relationships.users);
    const current = await loadForNotifying(context.database.reader, context, id);
    context.ifMatch.check(current.view);
    const proposed = change(current.view);
    throwIfInvalid(configurationFaults(proposed));
    const verified = needsVerification(current.view, proposed)
      ? await verify(context, destinationOf(proposed, decryptToken(context.vault, { ...current, id })))
      : undefined;
    return context.database.write(async (tx) => {
      const { view: before } = await loadForNotifying(tx, context, id, "change");
      context.ifMatch.check(before);
      const draft = change(before);
      throwIfInvalid(configurationFaults(draft));
      return { view: await update(tx, context, before, draft, verified) };
    });
  },

  async deleteNotificationConfiguration({ context, params }) {
    await context.database.write(async (tx) => {
      const { view } = await loadConfiguration(tx, context, params.notificationConfigurationId, "removal");
      context.ifMatch.check(view);
      await store.deleteConfiguration(tx, view);
      await recordChange(
        tx,
        context,
        notificationConfigurations,
        { before: view },
        { before: extraAttributesOf(view) },
      );
    });
  },

  async listNotificationDeliveries({ context, params, query }) {
    const tx = context.database.reader;
    const { view, team } = await loadConfiguration(tx, context, params.notificationConfigurationId);
    // Deliveries name workspaces that the team can read.
    if (team !== undefined) await refuseShowingUnreadableAccess(tx, context, view.organizationId, team);
    return listDeliveries(tx, view, query.page);
  },

  async verifyNotificationConfiguration({ context, params }) {
    const id = params.notificationConfigurationId;
    const tx = context.database.reader;
    const { view: current, token } = await loadForNotifying(tx, context, id);
    const recipients = current.destinationType === "email" ? await recipientsOf(tx, current) : [];
    const draft = { view: current, token: undefined, userIds: current.userIds };
    const destination = { ...destinationOf(draft, decryptToken(context.vault, { id, token })), recipients };
    const verified = await verify(context, destination);
    const lastDelivery = JSON.stringify(verified.response);
    return context.database.write(async (write) => {
      const { view } = await loadForNotifying(write, context, id, "change");
      await store.updateConfiguration(write, view, { lastDelivery });
      const subject = { type: notificationConfigurations.type, id };
      await recordEvent(write, context, { organizationId: view.organizationId, verb: "verify", subject });
      await recordIfVerified(write, view, verified);
      return { view: afterUpdate<View>(view, { lastDelivery }) };
    });
  },
});

interface SubscribableTarget {
  readonly type: SubscribableType;
  readonly noun: string;
  /** Throws `not-found` or `forbidden`. */
  load(tx: Tx, context: Context, lock: RowLock): Promise<LoadedSubscribable>;
}

interface LoadedSubscribable {
  readonly target: store.ManagedRow<{ readonly id: string; readonly organizationId: string }>;
  readonly team: TeamWithStanding | undefined;
}

const ofWorkspace = (workspaceId: string): SubscribableTarget => ({
  type: "workspaces",
  noun: "workspace",
  load: async (tx, context, lock) => ({
    target: authorizeWorkspace(await loadWorkspace(tx, context, { workspaceId }, lock), "can-update"),
    team: undefined,
  }),
});
const ofProject = (id: string): SubscribableTarget => ({
  type: "projects",
  noun: "project",
  load: async (tx, context, lock) => ({
    target: authorizeProject(await loadProject(tx, context, id, lock), "can-update"),
    team: undefined,
  }),
});
const ofTeam = (id: string): SubscribableTarget => ({
  type: "teams",
  noun: "team",
  load: async (tx, context, lock) => {
    const team = authorizeTeam(await loadTeam(tx, context, id, lock), "can-update");
    return { target: team, team };
  },
});

async function list(
  context: Context,
  { load }: SubscribableTarget,
  query: { readonly page: Page; readonly isPageRequested: boolean },
): Promise<ListAnswer<View>> {
  const page = query.isPageRequested ? query.page : undefined;
  const tx = context.database.reader;
  const { target } = await load(tx, context, false);
  const { rows, ...rest } = await store.listConfigurations(tx, target, page);
  return { views: rows.map((row) => toView(context, row)), ...rest };
}

interface NewConfigurationBody {
  readonly attributes: CreateAttributes<typeof notificationConfigurations>;
  readonly relationships: { readonly users?: readonly string[] };
}

async function create(
  context: Context,
  subscribable: SubscribableTarget,
  body: NewConfigurationBody,
): Promise<DocumentAnswer<View>> {
  const current = await loadToNotify(context.database.reader, context, subscribable, false);
  const draft = newDraft(subscribable.type, current, body);
  throwIfInvalid(configurationFaults(draft));
  const verified = needsVerification(undefined, draft) ? await verify(context, destinationOf(draft, null)) : undefined;
  return context.database.write(async (tx) => {
    const target = await loadToNotify(tx, context, subscribable, "change");
    const reference = { organizationId: target.organizationId, id: target.id };
    const members = await store.findMembers(tx, target.organizationId, draft.userIds);
    const isFull = (await store.countConfigurations(tx, reference)) >= configurationsMax;
    throwIfInvalid([...unknownUserFaults(draft.userIds, members), ...(isFull ? [tooMany(subscribable.noun)] : [])]);
    const view = {
      ...draft.view,
      invitedCount: countInvited(members),
      ...(verified && { lastDelivery: JSON.stringify(verified.response) }),
    };
    await store.insertConfiguration(tx, target, rowOf(context, view, draft.token ?? null));
    await store.insertMembers(tx, target, view, members);
    await recordChange(tx, context, notificationConfigurations, { after: view }, { after: extraAttributesOf(view) });
    await recordIfVerified(tx, view, verified);
    return { view };
  });
}

async function loadToNotify(
  tx: Tx,
  context: Context,
  { load }: SubscribableTarget,
  lock: RowLock,
): Promise<store.NotifiableRow<{ readonly id: string; readonly organizationId: string }>> {
  const { target, team } = await load(tx, context, lock);
  return authorizeNotifying(tx, context, target, team);
}

function newDraft(
  type: SubscribableType,
  target: { readonly id: string; organizationId: string },
  body: NewConfigurationBody,
): ConfigurationDraft {
  const { id: subscribableId, organizationId } = target;
  const idIfType = (wantedType: SubscribableType) => (type === wantedType ? subscribableId : null);
  return newConfiguration(body.attributes, body.relationships.users ?? [], {
    id: newId("notification-configurations"),
    organizationId,
    workspaceId: idIfType("workspaces"),
    projectId: idIfType("projects"),
    teamId: idIfType("teams"),
    subscribableId,
    createdAt: now(),
  });
}

async function update(
  tx: Tx,
  context: Context,
  before: store.NotifiableRow<View>,
  { view, token, userIds }: ConfigurationDraft,
  verified: Verification | undefined,
): Promise<View> {
  const areUsersNew = userIds.join() !== before.userIds.join();
  const { decryptedUrl, userIds: _users, invitedCount: _invited, ...columns } = view;
  const changes = changesOf<View>(before, columns);
  const isUrlNew = decryptedUrl !== before.decryptedUrl;
  if (changes === undefined && token === undefined && !areUsersNew && !isUrlNew && verified === undefined)
    return before;
  const members = areUsersNew ? await store.findMembers(tx, before.organizationId, userIds) : undefined;
  if (members !== undefined) throwIfInvalid(unknownUserFaults(userIds, members));
  const extra = { updatedAt: now(), ...(verified && { lastDelivery: JSON.stringify(verified.response) }) };
  await store.updateConfiguration(tx, before, {
    ...changes,
    ...extra,
    ...(isUrlNew && { url: encrypt(context, urlOwner(before.id), decryptedUrl) }),
    ...(token !== undefined && { token: encrypt(context, tokenOwner(before.id), token) }),
  });
  if (members !== undefined) await store.replaceMembers(tx, before, members);
  const recipientChanges = members && { userIds, invitedCount: countInvited(members) };
  const after = afterUpdate<View>(before, { ...changes, ...extra, decryptedUrl, ...recipientChanges });
  const replaced = [...(isUrlNew ? ["url"] : []), ...(token === undefined ? [] : ["token"])];
  await recordChange(
    tx,
    context,
    notificationConfigurations,
    { before, after },
    {
      before: extraAttributesOf(before),
      after: { ...extraAttributesOf(after), ...(replaced.length > 0 && { "replaced-secrets": replaced }) },
    },
  );
  await recordIfVerified(tx, after, verified);
  return after;
}

async function recordIfVerified(tx: Tx, view: View, verified: Verification | undefined): Promise<void> {
  const { id: subjectId, organizationId, destination } = view;
  if (verified)
    await recordVerification(tx, { organizationId, kind: notificationKind, subjectId, destination }, verified);
}

const extraAttributesOf = ({ subscribableId, destination, userIds }: View): object => ({
  subscribable: subscribableId,
  destination,
  users: userIds,
});

function rowOf(context: Context, view: View, token: string | null) {
  const { decryptedUrl, userIds: _users, invitedCount: _invited, ...columns } = view;
  return {
    ...columns,
    url: encrypt(context, urlOwner(view.id), decryptedUrl),
    token: encrypt(context, tokenOwner(view.id), token),
  };
}

const encrypt = ({ vault }: Context, owner: string, value: string | null): Uint8Array | null =>
  value === null ? null : vault.seal(owner, Buffer.from(value));

function destinationOf({ view, token }: ConfigurationDraft, storedToken: string | null): NotificationDestination {
  const { id, name, destinationType, decryptedUrl: url } = view;
  return { id, name, destinationType, url, token: token === undefined ? storedToken : token, recipients: [] };
}

const recipientsOf = async (tx: Tx, { id, emailAddresses }: View): Promise<string[]> => [
  ...new Set([...(JSON.parse(emailAddresses) as string[]), ...(await store.findRecipients(tx, id))]),
];
