/** What is delivered without anybody waiting for it. */
import { auditCourier, auditKind } from "../resources/connections/audit-webhooks/courier.ts";
import { postAuditNotices } from "../resources/connections/audit-webhooks/fan-out.ts";
import { notificationCourier } from "../resources/connections/notification-configurations/courier.ts";
import { notificationKind } from "../resources/connections/notification-configurations/writes.ts";
import { invitationCourier, invitationKind } from "../resources/identity/invitations/courier.ts";
import { type Couriers, deliverNotices } from "../resources/shared/outbox/delivery.ts";
import { noticesJob } from "../resources/shared/outbox/writes.ts";
import type { Job } from "./job.ts";

/** Who brings what to where it goes. */
export const couriers: Couriers = {
  [notificationKind]: notificationCourier,
  [auditKind]: auditCourier,
  [invitationKind]: invitationCourier,
};

/** Woken by whoever has something to tell; what is due is what is tried again, and what a server left behind. */
export const notices: Job = {
  name: noticesJob,
  doc: "tells those who have subscribed of what happened.",
  everyMs: 5_000,
  run: (work) => deliverNotices(work, couriers),
};

/** Apart from delivering, which may take its time: what the trail was told is found out every few seconds. */
export const auditNotices: Job = {
  name: "audit-notices",
  doc: "finds out which webhooks want which events of the audit trail, and which locks are held for too long.",
  everyMs: 5_000,
  run: postAuditNotices,
};
