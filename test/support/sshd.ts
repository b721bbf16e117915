/** A real SSH server on the loopback that accepts one key and serves the repositories of a Git server. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { until } from "./waiting.ts";

export interface SshServer {
  readonly url: string;
  /** The accepted private key, and a rejected one. */
  readonly key: string;
  readonly otherKey: string;
  /** known_hosts files: with the server's host key, and with another. */
  readonly knownHosts: string;
  readonly otherHosts: string;
  stop(): void;
}

const programs = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"];

export async function startSshServer(): Promise<SshServer> {
  const program = programs.find(existsSync);
  if (program === undefined) throw new Error("There is no sshd. Install openssh-server.");
  const folder = mkdtempSync(join(tmpdir(), "cadastre-sshd-"));
  const at = (name: string) => join(folder, name);
  const makeKey = (name: string): string => {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", at(name)]);
    return readFileSync(at(`${name}.pub`), "utf8");
  };
  const [host, other, client] = [makeKey("host"), makeKey("other-host"), makeKey("client")];
  makeKey("stranger");
  writeFileSync(at("authorized"), client);
  const port = await freePort();
  writeFileSync(at("known"), `[127.0.0.1]:${port} ${host}`);
  writeFileSync(at("others"), `[127.0.0.1]:${port} ${other}`);
  const settings = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${at("host")}`,
    `AuthorizedKeysFile ${at("authorized")}`,
    "AuthenticationMethods publickey",
    "PermitRootLogin prohibit-password",
    "StrictModes no",
    "UsePAM no",
    "PidFile none",
  ];
  writeFileSync(at("config"), `${settings.join("\n")}\n`);
  // As root, sshd needs its chroot directory.
  if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
  const child = spawn(program, ["-D", "-e", "-f", at("config")], { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (piece: Buffer) => (output += piece));
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  await listening(port, () => output);
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    key: readFileSync(at("client"), "utf8"),
    otherKey: readFileSync(at("stranger"), "utf8"),
    knownHosts: at("known"),
    otherHosts: at("others"),
    stop: () => {
      process.off("exit", kill);
      child.kill("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function listening(port: number, output: () => string): Promise<void> {
  await until(
    async () => {
      const socket = connect(port, "127.0.0.1");
      const isThere = await new Promise<boolean>((resolve) => {
        socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      });
      socket.destroy();
      return isThere;
    },
    () => `sshd listens: ${output()}`,
  );
}
