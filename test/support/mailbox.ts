/** An SMTP server on the loopback that stores or refuses messages. */
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach } from "vitest";

export interface ReceivedMail {
  readonly from: string;
  readonly to: string[];
  readonly text: string;
}

export interface Mailbox {
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** The reply to each recipient; each test starts with `250 ok`. */
  answer: string;
}

const crlf = "\r\n";

function handleConnection(socket: Socket, mailbox: Mailbox): void {
  let [buffered, from, inMessage] = ["", "", false];
  let to: string[] = [];
  const reply = (line: string) => socket.write(`${line}${crlf}`);
  const storeMessage = (text: string) => {
    mailbox.mails.push({ from, to, text });
    [inMessage, to] = [false, []];
    reply("250 stored");
  };
  const command = (line: string) => {
    const [, address = ""] = /<([^>]*)>/.exec(line) ?? [];
    if (/^(EHLO|HELO)/i.test(line)) return reply("250 mailbox");
    if (/^MAIL FROM/i.test(line)) [from] = [address];
    if (/^RCPT TO/i.test(line)) {
      if (mailbox.answer.startsWith("2")) to.push(address);
      return reply(mailbox.answer);
    }
    if (/^DATA/i.test(line)) {
      inMessage = true;
      return reply("354 go on");
    }
    if (/^QUIT/i.test(line)) return socket.end(`221 bye${crlf}`);
    return reply("250 ok");
  };
  socket.setEncoding("utf8").on("data", (piece: string) => {
    buffered += piece;
    for (;;) {
      const end = buffered.indexOf(inMessage ? `${crlf}.${crlf}` : crlf);
      if (end < 0) return;
      const part = buffered.slice(0, end);
      buffered = buffered.slice(end + (inMessage ? 5 : 2));
      if (inMessage) storeMessage(part);
      else command(part);
    }
  });
  socket.on("error", () => {});
  reply("220 mailbox");
}

export function useMailbox(): Mailbox {
  let server: Server | undefined;
  const mailbox = { url: "", mails: [] as ReceivedMail[], answer: "250 ok" };
  beforeAll(async () => {
    server = createServer((socket) => handleConnection(socket, mailbox));
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    mailbox.url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    mailbox.mails.length = 0;
    mailbox.answer = "250 ok";
  });
  afterAll(() => void server?.close());
  return mailbox;
}
