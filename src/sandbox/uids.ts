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
  const claims: NameClaim[] = [];
  const list: number[] = [];
  const release = () => {
    for (const claim of claims.splice(0)) claim.close();
  };
  for (let uid = base; list.length < count; uid += 1) {
    if (uid > base + count + triesMax) {
      release();
      throw new SettingError(`There are no free user ids from ${base}. Set CADASTRE_SANDBOX_UID to another value.`);
    }
    const claim = await claimName(`cadastre-agent-uid-${uid}`);
    if (claim === undefined) continue;
    claims.push(claim);
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
