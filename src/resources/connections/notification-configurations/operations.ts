/** Operations on notification configurations: load → authorize → verify the destination → load again, locked → write. */
import type { Tx } from "../../../database/database.ts";
import type { CreateAttributes, DocumentAnswer, ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { grantTeam, loadTeam, refuseShowingUnreadableAccess } from "../../identity/teams/reads.ts";
import { grantProject, loadProject } from "../../register/projects/reads.ts";
import { grantWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { Lock } from "../../shared/locks.ts";
import type { Verification } from "../../shared/outbox/delivery.ts";
import { recordVerification, listDeliveries } from "../../shared/outbox/writes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { type NotificationDestination, openedToken, verify } from "./sender.ts";
import { notificationConfigurations, type NotificationConfigurationView as View } from "./definition.ts";
import { grantNotifying, loadConfiguration, loadForNotifying, type TeamWithStanding, toView } from "./reads.ts";
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
    const seen = await loadForNotifying(context.database.reader, context, id);
    context.ifMatch.check(seen.view);
    const foreseen = change(seen.view);
    refuseIfAny(configurationFaults(foreseen));
    const verified = needsVerification(seen.view, foreseen)
      ? await verify(context, destinationOf(foreseen, openedToken(context.vault, { ...seen, id })))
      : undefined;
    return context.database.write(async (tx) => {
      const { view: before } = await loadForNotifying(tx, context, id, true);
      context.ifMatch.check(before);
      const draft = change(before);
      refuseIfAny(configurationFaults(draft));
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
    const { view: seen, token } = await loadForNotifying(tx, context, id);
    const recipients = seen.destinationType === "email" ? await recipientsOf(tx, seen) : [];
    const draft = { view: seen, token: undefined, userIds: seen.userIds };
    const destination = { ...destinationOf(draft, openedToken(context.vault, { id, token })), recipients };
    const verified = await verify(context, destination);
    const lastDelivery = JSON.stringify(verified.response);
    return context.database.write(async (write) => {
      const { view } = await loadForNotifying(write, context, id, true);
      await store.updateConfiguration(write, view, { lastDelivery });
      const subject = { type: notificationConfigurations.type, id };
      await recordEvent(write, context, { organizationId: view.organizationId, verb: "verify", subject });
      await recordVerified(write, view, verified);
      return { view: afterUpdate<View>(view, { lastDelivery }) };
    });
  },
});

interface SubscribableTarget {
  readonly type: SubscribableType;
  readonly noun: string;
  /** Raises `not-found` or `forbidden`. */
  load(tx: Tx, context: Context, lock: Lock): Promise<LoadedSubscribable>;
}

interface LoadedSubscribable {
  readonly target: store.ManagedRow<{ readonly id: string; readonly organizationId: string }>;
  readonly team: TeamWithStanding | undefined;
}

const ofWorkspace = (workspaceId: string): SubscribableTarget => ({
  type: "workspaces",
  noun: "workspace",
  load: async (tx, context, lock) => ({
    target: grantWorkspace(await loadWorkspace(tx, context, { workspaceId }, lock), "can-update"),
    team: undefined,
  }),
});
const ofProject = (id: string): SubscribableTarget => ({
  type: "projects",
  noun: "project",
  load: async (tx, context, lock) => ({
    target: grantProject(await loadProject(tx, context, id, lock), "can-update"),
    team: undefined,
  }),
});
const ofTeam = (id: string): SubscribableTarget => ({
  type: "teams",
  noun: "team",
  load: async (tx, context, lock) => {
    const team = grantTeam(await loadTeam(tx, context, id, lock), "can-update");
    return { target: team, team };
  },
});

async function list(
  context: Context,
  { load }: SubscribableTarget,
  query: { readonly page: Page; readonly pageAsked: boolean },
): Promise<ListAnswer<View>> {
  const page = query.pageAsked ? query.page : undefined;
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
  on: SubscribableTarget,
  body: NewConfigurationBody,
): Promise<DocumentAnswer<View>> {
  const seen = await loadToNotify(context.database.reader, context, on, false);
  const draft = newDraft(on.type, seen, body);
  refuseIfAny(configurationFaults(draft));
  const verified = needsVerification(undefined, draft) ? await verify(context, destinationOf(draft, null)) : undefined;
  return context.database.write(async (tx) => {
    const place = await loadToNotify(tx, context, on, true);
    const known = { organizationId: place.organizationId, id: place.id };
    const members = await store.findMembers(tx, place.organizationId, draft.userIds);
    const isFull = (await store.countConfigurations(tx, known)) >= configurationsMax;
    refuseIfAny([...unknownUserFaults(draft.userIds, members), ...(isFull ? [tooMany(on.noun)] : [])]);
    const view = {
      ...draft.view,
      invitedCount: countInvited(members),
      ...(verified && { lastDelivery: JSON.stringify(verified.response) }),
    };
    await store.insertConfiguration(tx, place, rowOf(context, view, draft.token ?? null));
    await store.insertMembers(tx, place, view, members);
    await recordChange(tx, context, notificationConfigurations, { after: view }, { after: extraAttributesOf(view) });
    await recordVerified(tx, view, verified);
    return { view };
  });
}

async function loadToNotify(
  tx: Tx,
  context: Context,
  { load }: SubscribableTarget,
  lock: Lock,
): Promise<store.NotifiableRow<{ readonly id: string; readonly organizationId: string }>> {
  const { target, team } = await load(tx, context, lock);
  return grantNotifying(tx, context, target, team);
}

function newDraft(
  type: SubscribableType,
  target: { readonly id: string; organizationId: string },
  body: NewConfigurationBody,
): ConfigurationDraft {
  const { id: subscribableId, organizationId } = target;
  const only = (wanted: SubscribableType) => (type === wanted ? subscribableId : null);
  return newConfiguration(body.attributes, body.relationships.users ?? [], {
    id: newId("notification-configurations"),
    organizationId,
    workspaceId: only("workspaces"),
    projectId: only("projects"),
    teamId: only("teams"),
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
  const { shownUrl, userIds: _users, invitedCount: _invited, ...columns } = view;
  const changes = changesOf<View>(before, columns);
  const isUrlNew = shownUrl !== before.shownUrl;
  if (changes === undefined && token === undefined && !areUsersNew && !isUrlNew && verified === undefined)
    return before;
  const members = areUsersNew ? await store.findMembers(tx, before.organizationId, userIds) : undefined;
  if (members !== undefined) refuseIfAny(unknownUserFaults(userIds, members));
  const extra = { updatedAt: now(), ...(verified && { lastDelivery: JSON.stringify(verified.response) }) };
  await store.updateConfiguration(tx, before, {
    ...changes,
    ...extra,
    ...(isUrlNew && { url: sealed(context, urlOwner(before.id), shownUrl) }),
    ...(token !== undefined && { token: sealed(context, tokenOwner(before.id), token) }),
  });
  if (members !== undefined) await store.replaceMembers(tx, before, members);
  const people = members && { userIds, invitedCount: countInvited(members) };
  const after = afterUpdate<View>(before, { ...changes, ...extra, shownUrl, ...people });
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
  await recordVerified(tx, after, verified);
  return after;
}

async function recordVerified(tx: Tx, view: View, verified: Verification | undefined): Promise<void> {
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
  const { shownUrl, userIds: _users, invitedCount: _invited, ...columns } = view;
  return {
    ...columns,
    url: sealed(context, urlOwner(view.id), shownUrl),
    token: sealed(context, tokenOwner(view.id), token),
  };
}

const sealed = ({ vault }: Context, owner: string, value: string | null): Uint8Array | null =>
  value === null ? null : vault.seal(owner, Buffer.from(value));

function destinationOf({ view, token }: ConfigurationDraft, kept: string | null): NotificationDestination {
  const { id, name, destinationType, shownUrl: url } = view;
  return { id, name, destinationType, url, token: token === undefined ? kept : token, recipients: [] };
}

const recipientsOf = async (tx: Tx, { id, emailAddresses }: View): Promise<string[]> => [
  ...new Set([...(JSON.parse(emailAddresses) as string[]), ...(await store.findRecipients(tx, id))]),
];
