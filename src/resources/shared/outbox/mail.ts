/** How a notice is sent by mail. */
import { now } from "../../../kernel/time.ts";
import { type Mail, sendMail } from "../../../outgoing/mail.ts";
import { OutgoingFault } from "../../../outgoing/request.ts";
import type { ServiceOptions } from "../context.ts";
import { type DeliveryResponse, unanswered } from "./delivery.ts";

/** Raises nothing: a server that does not take it has not answered. */
export async function mailNotice({ mail: server }: ServiceOptions, mail: Mail): Promise<DeliveryResponse> {
  const sentAt = now();
  if (server === undefined)
    return unanswered("The service sends no mail: its operator has not set CADASTRE_SMTP_URL.", sentAt);
  if (mail.to.length === 0) return unanswered("Nobody is named whom mail could be sent to.", sentAt);
  try {
    const body = await sendMail(server, mail);
    return { code: body.slice(0, 3), body, headers: {}, "sent-at": sentAt, successful: "true" };
  } catch (error) {
    if (error instanceof OutgoingFault) return unanswered(error.message, sentAt);
    throw error;
  }
}
