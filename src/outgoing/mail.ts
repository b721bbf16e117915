/** Sends mail through the operator's server, with verified TLS and a timeout. */
import { createTransport } from "nodemailer";
import { OutgoingError } from "./request.ts";

/** `url`: `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`. */
export interface MailServer {
  readonly url: string;
  readonly from: string;
}

export interface Mail {
  /** The same for every attempt, so that receivers recognize duplicates. */
  readonly id: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

const connectMs = 10_000;
const silentMs = 20_000;

function transportTo(url: string) {
  return createTransport({
    url,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silentMs,
    // Messages contain only our own text: nothing may be fetched or read to fill them.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Throws OutgoingError. */
export async function verifyMailServer({ url }: MailServer): Promise<void> {
  const transport = transportTo(url);
  try {
    await transport.verify();
  } catch (error) {
    const reason = (error as Error).message;
    throw new OutgoingError(
      `The mail server ${new URL(url).host} can't be used (${reason}). Check CADASTRE_SMTP_URL, and that the server is running.`,
    );
  } finally {
    transport.close();
  }
}

/** Returns the server's final response. Throws OutgoingError. */
export async function sendMail({ url, from }: MailServer, mail: Mail): Promise<string> {
  const { host } = new URL(url);
  const transport = transportTo(url);
  try {
    const sent = await transport.sendMail({
      from,
      to: from,
      // Recipients are on the envelope only, so that they don't see each other; the sender gets no copy.
      envelope: { from, to: [...mail.to] },
      subject: mail.subject,
      text: mail.text,
      messageId: `<${mail.id}@${host.replace(/:\d+$/, "")}>`,
      headers: { "X-Cadastre-Delivery": mail.id, "Auto-Submitted": "auto-generated" },
    });
    const refused = sent.rejected.length > 0 ? ` Refused for: ${sent.rejected.map(String).join(", ")}.` : "";
    return `${sent.response}${refused}`;
  } catch (error) {
    throw new OutgoingError(`The mail server ${host} did not accept the message (${(error as Error).message}).`);
  } finally {
    transport.close();
  }
}
