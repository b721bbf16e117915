/** Mail by the operator's own server: TLS verified, bounded in time. Whom it is for is not shown to the others. */
import { createTransport } from "nodemailer";
import { OutgoingFault } from "./request.ts";

/** The operator's server, as `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`, and who the mail is from. */
export interface MailServer {
  readonly url: string;
  readonly from: string;
}

export interface Mail {
  /** The same for every attempt, so that a mail that comes twice can be told. */
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
    // What is sent is text of ours: nothing is fetched or read to fill it.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Connects and signs in, and sends nothing. Raises OutgoingFault. */
export async function verifyMailServer({ url }: MailServer): Promise<void> {
  const transport = transportTo(url);
  try {
    await transport.verify();
  } catch (error) {
    const reason = (error as Error).message;
    throw new OutgoingFault(
      `The mail server ${new URL(url).host} can't be used (${reason}). Check CADASTRE_SMTP_URL, and that the server is running.`,
    );
  } finally {
    transport.close();
  }
}

/** Gives the server's last word. Raises OutgoingFault. */
export async function sendMail({ url, from }: MailServer, mail: Mail): Promise<string> {
  const { host } = new URL(url);
  const transport = transportTo(url);
  try {
    const sent = await transport.sendMail({
      from,
      to: from,
      // Whom it is for stands on the envelope alone; who it is from gets none.
      envelope: { from, to: [...mail.to] },
      subject: mail.subject,
      text: mail.text,
      messageId: `<${mail.id}@${host.replace(/:\d+$/, "")}>`,
      headers: { "X-Cadastre-Delivery": mail.id, "Auto-Submitted": "auto-generated" },
    });
    const refused = sent.rejected.length > 0 ? ` Refused for: ${sent.rejected.map(String).join(", ")}.` : "";
    return `${sent.response}${refused}`;
  } catch (error) {
    throw new OutgoingFault(`The mail server ${host} did not take it (${(error as Error).message}).`);
  } finally {
    transport.close();
  }
}
