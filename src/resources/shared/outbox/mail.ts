/** Sends a notification by mail. */
import { now } from "../../../kernel/time.ts";
import { type Mail, sendMail } from "../../../outgoing/mail.ts";
import { OutgoingError } from "../../../outgoing/request.ts";
import type { ServiceOptions } from "../context.ts";
import { type DeliveryResponse, failedResponse } from "./delivery.ts";

/** Does not raise: a server that refuses the message is a failed attempt. */
export async function sendMailNotification({ mail: server }: ServiceOptions, mail: Mail): Promise<DeliveryResponse> {
  const sentAt = now();
  if (server === undefined)
    return failedResponse("This site can't send mail. Ask its operator to set CADASTRE_SMTP_URL.", sentAt);
  if (mail.to.length === 0)
    return failedResponse("There are no recipients. Add users or email addresses to the configuration.", sentAt);
  try {
    const body = await sendMail(server, mail);
    return { code: body.slice(0, 3), body, headers: {}, "sent-at": sentAt, successful: "true" };
  } catch (error) {
    if (error instanceof OutgoingError) return failedResponse(error.message, sentAt);
    throw error;
  }
}
