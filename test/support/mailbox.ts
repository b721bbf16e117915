/** An SMTP server on the loopback that stores or refuses messages. */
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach } from "vitest";

export interface Letter {
  readonly from: string;
  readonly to: string[];
  readonly text: string;
}

export interface Mailbox {
  readonly url: string;
  readonly letters: Letter[];
  /** The reply to each recipient; each test starts with `250 ok`. */
  answer: string;
}

const crlf = "\r\n";

function converse(socket: Socket, mailbox: Mailbox): void {
  let [heard, from, isLetter] = ["", "", false];
  let to: string[] = [];
  const say = (line: string) => socket.write(`${line}${crlf}`);
  const letter = (text: string) => {
    mailbox.letters.push({ from, to, text });
    [isLetter, to] = [false, []];
    say("250 kept");
  };
  const command = (line: string) => {
    const [, address = ""] = /<([^>]*)>/.exec(line) ?? [];
    if (/^(EHLO|HELO)/i.test(line)) return say("250 mailbox");
    if (/^MAIL FROM/i.test(line)) [from] = [address];
    if (/^RCPT TO/i.test(line)) {
      if (mailbox.answer.startsWith("2")) to.push(address);
      return say(mailbox.answer);
    }
    if (/^DATA/i.test(line)) {
      isLetter = true;
      return say("354 go on");
    }
    if (/^QUIT/i.test(line)) return socket.end(`221 bye${crlf}`);
    return say("250 ok");
  };
  socket.setEncoding("utf8").on("data", (piece: string) => {
    heard += piece;
    for (;;) {
      const end = heard.indexOf(isLetter ? `${crlf}.${crlf}` : crlf);
      if (end < 0) return;
      const part = heard.slice(0, end);
      heard = heard.slice(end + (isLetter ? 5 : 2));
      if (isLetter) letter(part);
      else command(part);
    }
  });
  socket.on("error", () => {});
  say("220 mailbox");
}

export function useMailbox(): Mailbox {
  let server: Server | undefined;
  const mailbox = { url: "", letters: [] as Letter[], answer: "250 ok" };
  beforeAll(async () => {
    server = createServer((socket) => converse(socket, mailbox));
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    mailbox.url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    mailbox.letters.length = 0;
    mailbox.answer = "250 ok";
  });
  afterAll(() => void server?.close());
  return mailbox;
}
