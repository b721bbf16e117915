/** Validates the URLs that git fetches from, and prepares access to them. Throws FetchFault. */
import { resolveAllowedAddress, OutgoingError } from "../../../outgoing/request.ts";
import { addressFault, FetchFault } from "./faults.ts";
import type { GitSandbox } from "./git-sandbox.ts";

export interface RemoteCredentials {
  /** Must only be sent to this origin, the connection's own. */
  readonly authorization: { readonly origin: string; readonly value: string } | undefined;
  readonly sshKey: string | undefined;
}

const refused = (sentence: string) => new FetchFault("protocol", sentence, { isFinal: true });

/** No local paths, and no transports that run a program. The proxy restricts `http://` to allowed addresses. */
export function readRemote(text: string): URL {
  const [, user, host, path] = /^(?:([\w.-]+)@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)([^\s]+)$/.exec(text) ?? [];
  const isScpStyle = host !== undefined && path !== undefined && !/^[a-z][a-z0-9+.-]*::/i.test(text);
  const spelled = isScpStyle ? `ssh://${user ?? "git"}@${host}/${path.replace(/^\//, "")}` : text;
  const url = URL.canParse(spelled) ? new URL(spelled) : undefined;
  if (url === undefined || !["https:", "http:", "ssh:"].includes(url.protocol))
    throw refused(
      `repositories can only be fetched over https and ssh, and ${JSON.stringify(text.slice(0, 100))} is neither`,
    );
  if (url.password !== "" || (url.protocol !== "ssh:" && url.username !== ""))
    throw refused("the repository's URL must not contain a user name or a password");
  if (!/^[A-Za-z0-9.[\]:-]+$/.test(url.hostname) || url.hostname.startsWith("-"))
    throw refused(`${JSON.stringify(url.hostname.slice(0, 100))} is not a valid host name`);
  return url;
}

export async function prepareRemote(
  gitSandbox: GitSandbox,
  remote: URL,
  credentials: RemoteCredentials,
): Promise<string> {
  if (remote.protocol !== "ssh:") return remote.href;
  if (credentials.sshKey === undefined)
    throw refused(`${remote.host} is accessed over SSH, and the connection has no SSH key; set one on its OAuth token`);
  const host = remote.hostname.replace(/^\[|\]$/g, "");
  try {
    const address = await resolveAllowedAddress(host, remote.port || "22", gitSandbox.allowed);
    const key = await gitSandbox.write(
      "ssh/key",
      credentials.sshKey.endsWith("\n") ? credentials.sshKey : `${credentials.sshKey}\n`,
    );
    const hosts = await gitSandbox.knownHosts();
    await gitSandbox.write(
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
    if (error instanceof OutgoingError) throw addressFault(error);
    throw error;
  }
  return remote.href;
}

export function submoduleRemote(url: string, parent: URL): URL {
  if (!url.startsWith("./") && !url.startsWith("../")) return readRemote(url);
  const base = new URL(parent.href.endsWith("/") ? parent.href : `${parent.href}/`);
  return readRemote(new URL(url, base).href);
}
