/** Where git fetches from: which addresses it may have at all, and how each is reached. Raises FetchFault. */
import { judgedAddress, OutgoingFault } from "../../../outgoing/request.ts";
import { addressFault, FetchFault } from "./faults.ts";
import type { Workshop } from "./workshop.ts";

/** What may be shown to whom. */
export interface Keys {
  /** Sent to the connection's own origin and nowhere else. */
  readonly authorization: { readonly origin: string; readonly value: string } | undefined;
  readonly sshKey: string | undefined;
}

const refused = (sentence: string) => new FetchFault("protocol", sentence, { isFinal: true });

/**
 * `https://…`, plain `http://…` where the operator has named the address, `ssh://…`, or `git@HOST:PATH`, which is the same. No paths
 * of this machine, and nothing that git would run a program for.
 */
export function readRemote(text: string): URL {
  const [, user, host, path] = /^(?:([\w.-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)([^\s]+)$/.exec(text) ?? [];
  const short = host !== undefined && path !== undefined && !/^[a-z][a-z0-9+.-]*::/i.test(text);
  const spelled = short ? `ssh://${user ?? "git"}@${host}/${path.replace(/^\//, "")}` : text;
  const url = URL.canParse(spelled) ? new URL(spelled) : undefined;
  if (url === undefined || !["https:", "http:", "ssh:"].includes(url.protocol))
    throw refused(`only https and ssh are used to fetch, and ${JSON.stringify(text.slice(0, 100))} is neither`);
  if (url.password !== "" || (url.protocol !== "ssh:" && url.username !== ""))
    throw refused("an address with a password or a user name in it is not fetched from");
  if (!/^[A-Za-z0-9.[\]:-]+$/.test(url.hostname) || url.hostname.startsWith("-"))
    throw refused(`${JSON.stringify(url.hostname.slice(0, 100))} is not a host's name`);
  return url;
}

/** Makes ready for a fetch from there, and gives the words that name it. */
export async function reach(workshop: Workshop, remote: URL, keys: Keys): Promise<string> {
  if (remote.protocol !== "ssh:") return remote.href;
  if (keys.sshKey === undefined)
    throw refused(
      `${remote.host} is fetched from over SSH, and the connection has no SSH key; give its OAuth token one`,
    );
  const host = remote.hostname.replace(/^\[|\]$/g, "");
  try {
    const address = await judgedAddress(host, remote.port || "22", workshop.allowed);
    const key = await workshop.write("ssh/key", keys.sshKey.endsWith("\n") ? keys.sshKey : `${keys.sshKey}\n`);
    const hosts = await workshop.knownHosts();
    await workshop.write(
      "ssh/config",
      [
        `HostName ${address}`,
        `HostKeyAlias ${remote.port ? `[${host}]:${remote.port}` : host}`,
        `IdentityFile ${key}`,
        "IdentitiesOnly yes",
        "BatchMode yes",
        "ConnectTimeout 30",
        `UserKnownHostsFile ${hosts ?? "/dev/null"}`,
        "GlobalKnownHostsFile /dev/null",
        `StrictHostKeyChecking ${hosts === undefined ? "no" : "yes"}`,
        "",
      ].join("\n"),
    );
  } catch (error) {
    if (error instanceof OutgoingFault) throw addressFault(error);
    throw error;
  }
  return remote.href;
}

/** As the address of a submodule is written: relative to the repository that it is in, or whole. */
export function submoduleRemote(url: string, parent: URL): URL {
  if (!url.startsWith("./") && !url.startsWith("../")) return readRemote(url);
  const base = new URL(parent.href.endsWith("/") ? parent.href : `${parent.href}/`);
  return readRemote(new URL(url, base).href);
}
