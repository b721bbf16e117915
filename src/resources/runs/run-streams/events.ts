/** Formats the server-sent events of a run's stream, and the event ids by which a client resumes. Pure. */

export interface StreamPosition {
  readonly plan: number;
  readonly apply: number;
  readonly version: string;
}

export type RunLogKind = "plan" | "apply";

const idOf = ({ plan, apply, version }: StreamPosition): string => `${plan}.${apply}.${version}`;

export function parsePosition(id: string): StreamPosition | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})\.([\w-]{0,32})$/.exec(id);
  return match === null ? undefined : { plan: Number(match[1]), apply: Number(match[2]), version: match[3]! };
}

const frame = (name: string, data: object, position: StreamPosition): string =>
  `id: ${idOf(position)}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Clients should read the run, its plan and its apply again. */
export const runEvent = (status: string, position: StreamPosition): string =>
  frame("run", { status, version: position.version }, position);

interface RunLogText {
  readonly kind: RunLogKind;
  readonly offset: number;
  readonly nextOffset: number;
  readonly text: string;
  readonly isEnd: boolean;
}

export const logEvent = ({ kind, offset, nextOffset, text, isEnd }: RunLogText, position: StreamPosition): string =>
  frame("log", { phase: kind, offset, "next-offset": nextOffset, text, ended: isEnd }, position);

export const endEvent = (reason: "finished" | "access", position: StreamPosition): string =>
  frame("end", { reason }, position);

/** Keeps proxies from closing an idle connection. */
export const heartbeat = ":\n\n";

export function completeUtf8Length(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
