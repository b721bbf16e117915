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
  const held: Server[] = [];
  const list: number[] = [];
  const release = () => {
    for (const server of held.splice(0)) server.close();
  };
  for (let uid = base; list.length < count; uid += 1) {
    if (uid > base + count + triesMax) {
      release();
      throw new SettingError(`There are no free user ids from ${base} on. Choose others with CADASTRE_SANDBOX_UID.`);
    }
    const server = await hold(uid);
    if (server === undefined) continue;
    held.push(server);
    list.push(uid);
  }
  return { list, release };
}

/** Undefined where another has it. */
async function hold(uid: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    server.listen({ path: `\0cadastre-agent-uid-${uid}` });
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
