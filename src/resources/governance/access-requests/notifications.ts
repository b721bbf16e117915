/** Notifies teams and people about an access request, in the transaction of the event. It must not send: the outbox does. */
import type { Tx } from "../../../database/database.ts";
import { requestMail } from "../../connections/notification-configurations/request-messages.ts";
import type { AccessRequestTriggerEvent } from "../../connections/notification-configurations/triggers.ts";
import { notifyTeams } from "../../connections/notification-configurations/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { AccessRequestEvent, NotifiedRequest } from "../../shared/hooks.ts";
import type { NotificationSender } from "../../shared/outbox/delivery.ts";
import { sendMailNotification } from "../../shared/outbox/mail.ts";
import { enqueueNotifications } from "../../shared/outbox/writes.ts";
import {
  decidersOf,
  findMailAddress,
  findRequestNames,
  firstUsers,
  ownersOf,
  teamsOfOwners,
  teamsOfUsers,
} from "./recipients.ts";

export const requestMailKind = "access-request-mail";

/** All owners get mail about break-glass access. */
const mailedDecidersMax = 50;

/** There are no notifications of requests that are withdrawn or lapse. */
export async function notifyAccessRequest(
  tx: Tx,
  context: Context,
  about: AccessRequestEvent,
  request: NotifiedRequest,
): Promise<void> {
  const event = await triggerEventOf(tx, about, request);
  const deciders = decidersOf(tx.dialect, request.id);
  const teams =
    about === "break-glass" ? teamsOfOwners(request.organizationId) : teamsOfUsers(request.organizationId, deciders);
  await notifyTeams(tx, context, request, teams, event);
  if (context.options.mail === undefined) return;
  if (about === "decided") return mailTo(tx, context, request, [request.requesterId], event);
  const users =
    about === "created"
      ? await firstUsers(tx, deciders, mailedDecidersMax)
      : await firstUsers(tx, ownersOf(request.organizationId));
  await mailTo(tx, context, request, users, event);
}

async function triggerEventOf(
  tx: Tx,
  about: AccessRequestEvent,
  request: NotifiedRequest,
): Promise<AccessRequestTriggerEvent> {
  const { id, status, reason, durationSeconds, createdAt, lapsesAt, decidedAt, decisionComment } = request;
  const { requestedBy, decidedBy, offerName } = await findRequestNames(tx, request);
  return {
    about: "access-request",
    trigger: `access-request:${about}`,
    requestId: id,
    status,
    requestedBy: requestedBy ?? request.requesterId,
    reason,
    durationSeconds,
    offerName,
    createdAt,
    lapsesAt,
    decidedBy,
    decidedAt,
    decisionComment,
  };
}

/** One for each person, so that nobody sees the others' addresses and a refused address delays nobody else. */
async function mailTo(
  tx: Tx,
  context: Context,
  { organizationId, organizationName }: NotifiedRequest,
  userIds: readonly string[],
  event: AccessRequestTriggerEvent,
): Promise<void> {
  if (userIds.length === 0) return;
  const mails = userIds.map((subjectId) => ({
    organizationId,
    kind: requestMailKind,
    subjectId,
    eventName: event.trigger,
    destination: "email",
    place: organizationName,
    content: event,
  }));
  await enqueueNotifications(tx, context, mails);
}

/** To the address at the time of sending; to nobody who has left the organization. */
export const requestMailSender: NotificationSender = {
  async deliver({ database, options }, { id, organizationId, subjectId, place, content }) {
    const address = await findMailAddress(database.reader, organizationId ?? "", subjectId);
    if (address === undefined) return "gone";
    const event = { ...(JSON.parse(content) as AccessRequestTriggerEvent), organizationName: place ?? "" };
    return sendMailNotification(options, { id, to: [address], ...requestMail(options.publicUrl, event) });
  },
};
