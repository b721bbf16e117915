/** The load balancer: one address for the primary database, and one for the servers. */
import { join } from "node:path";
import type { Node } from "./patroni.ts";
import { type Owner, Part, writeFor } from "./parts.ts";
import type { Software } from "./software.ts";

export interface BalancerOptions {
  readonly software: Software;
  readonly folder: string;
  readonly owner: Owner | undefined;
  readonly databasePort: number;
  readonly servicePort: number;
  readonly nodes: readonly Pick<Node, "name" | "databasePort" | "patroniPort">[];
  readonly servers: readonly { readonly name: string; readonly port: number }[];
}

export function newBalancer(options: BalancerOptions): Part {
  const { software, folder, owner } = options;
  const file = writeFor(owner, join(folder, "haproxy.cfg"), settingsOf(options));
  const words = ["-db", "-f", file];
  return new Part({ name: "haproxy", folder, owner, command: () => ({ program: software.haproxy, words }) });
}

function settingsOf({ databasePort, servicePort, nodes, servers }: BalancerOptions): string {
  return `global
  maxconn 500

defaults
  timeout connect 3s
  timeout check 2s
  timeout client 1h
  timeout server 1h

# Closes the connections of a node that is no longer the primary, or whose Patroni doesn't respond, so that nobody reads stale data.
listen database
  mode tcp
  bind 127.0.0.1:${databasePort}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fastinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.databasePort} check port ${node.patroniPort}`).join("\n")}

listen service
  mode http
  bind 127.0.0.1:${servicePort}
  option forwardfor
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 1s fall 2 rise 1
${servers.map((server) => `  server ${server.name} 127.0.0.1:${server.port} check`).join("\n")}
`;
}
