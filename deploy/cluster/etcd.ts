/** The three members of etcd, which store the leader. */
import { join } from "node:path";
import { folderFor, freePort, type Owner, Part } from "./parts.ts";
import type { Software } from "./software.ts";

export interface Member {
  readonly part: Part;
  readonly clientPort: number;
}

export async function newMembers(
  software: Software,
  folder: string,
  owner: Owner | undefined,
  count = 3,
): Promise<Member[]> {
  const ports = await Promise.all(
    Array.from({ length: count }, async () => ({ client: await freePort(), peer: await freePort() })),
  );
  const everybody = ports.map(({ peer }, index) => `etcd${index + 1}=http://127.0.0.1:${peer}`).join(",");
  return ports.map(({ client, peer }, index) => {
    const name = `etcd${index + 1}`;
    const data = folderFor(owner, join(folder, name));
    const words = [
      ["--name", name],
      ["--data-dir", data],
      ["--listen-client-urls", `http://127.0.0.1:${client}`],
      ["--advertise-client-urls", `http://127.0.0.1:${client}`],
      ["--listen-peer-urls", `http://127.0.0.1:${peer}`],
      ["--initial-advertise-peer-urls", `http://127.0.0.1:${peer}`],
      ["--initial-cluster", everybody],
      ["--initial-cluster-state", "new"],
      // Long timeouts, because everything shares one machine.
      ["--heartbeat-interval", "300"],
      ["--election-timeout", "3000"],
      ["--snapshot-count", "5000"],
    ].flat();
    const part = new Part({ name, folder, owner, command: () => ({ program: software.etcd, words }) });
    return { part, clientPort: client };
  });
}

/** Whether the members have a leader. */
export async function hasAgreed({ clientPort }: Member): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${clientPort}/version`, { signal: AbortSignal.timeout(1_000) });
    return /^\d/.test(((await response.json()) as { etcdcluster: string }).etcdcluster);
  } catch {
    return false;
  }
}
