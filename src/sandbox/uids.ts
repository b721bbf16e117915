/**
 * User ids for the jobs of an agent that is root. Everything that runs as one of them is killed with the job, so no two agents of a
 * machine may have the same: each is held by an abstract socket of its name, which goes with the process that has it.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { SettingError } from "../kernel/settings.ts";

export interface Uids {
  readonly list: readonly number[];
  readonly release: () => void;
}

/** How many taken ones are passed over. */
const triesMax = 1000;

/** The first free ones from `base` on. Raises SettingError. */
export async function claimUids(base: number, count: number): Promise<Uids> {
  const holds: Hold[] = [];
  const list: number[] = [];
  const release = () => {
    for (const held of holds.splice(0)) held.close();
  };
  for (let uid = base; list.length < count; uid += 1) {
    if (uid > base + count + triesMax) {
      release();
      throw new SettingError(`There are no free user ids from ${base} on. Choose others with CADASTRE_SANDBOX_UID.`);
    }
    const held = await holdName(`cadastre-agent-uid-${uid}`);
    if (held === undefined) continue;
    holds.push(held);
    list.push(uid);
  }
  return { list, release };
}

export type Hold = Pick<Server, "close">;

/** A name that one process of the machine has at a time, until it ends or gives it back. Undefined where another has it. */
export async function holdName(name: string): Promise<Hold | undefined> {
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
