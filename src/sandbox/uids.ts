/** Claims user ids for the jobs of a root agent. Two agents must not share one: ending a job kills every process of its user. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { SettingError } from "../kernel/settings.ts";

export interface ClaimedUids {
  readonly list: readonly number[];
  readonly release: () => void;
}

const triesMax = 1000;

/** Throws SettingError. */
export async function claimUids(base: number, count: number): Promise<ClaimedUids> {
  const holds: NameClaim[] = [];
  const list: number[] = [];
  const release = () => {
    for (const hold of holds.splice(0)) hold.close();
  };
  for (let uid = base; list.length < count; uid += 1) {
    if (uid > base + count + triesMax) {
      release();
      throw new SettingError(`There are no free user ids from ${base}. Set CADASTRE_SANDBOX_UID to another value.`);
    }
    const hold = await claimName(`cadastre-agent-uid-${uid}`);
    if (hold === undefined) continue;
    holds.push(hold);
    list.push(uid);
  }
  return { list, release };
}

export type NameClaim = Pick<Server, "close">;

/** An abstract socket, which the kernel releases. Undefined if another process has the name. */
export async function claimName(name: string): Promise<NameClaim | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    server.listen({ path: `\0${name}` });
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
