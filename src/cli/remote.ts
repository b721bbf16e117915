/** API client for commands that work on a running server (`--address`, `--token`) instead of the database. */
import { AppError } from "../kernel/errors.ts";
import { SettingError, readTable } from "../kernel/settings.ts";
import { fold, quoted } from "../kernel/text.ts";
import { isObject, type WireObject, textOf, type WireResource, resourceOf, resourcesOf } from "../moving/wire.ts";
import { version } from "../version.ts";
import { type Invocation, UsageError } from "./command.ts";
import { commandSettingTable } from "./environment.ts";

const { address, token } = commandSettingTable;
export const remoteSettings = { address, token };

export const remoteDetails =
  "With --address and --token (or CADASTRE_ADDRESS and CADASTRE_TOKEN) the command calls that server's API with the permissions of the token. Without them it opens the database.";

const timeoutMs = 60_000;
const mediaType = "application/vnd.api+json";

/** Undefined if the command works on the database. Throws SettingError, and UsageError if flags name both. */
export function remoteOf({ sources }: Pick<Invocation, "sources">): RemoteServer | undefined {
  const { flags = {} } = sources;
  if ((flags["database"] ?? flags["databaseFile"]) !== undefined) {
    if (flags["address"] !== undefined)
      throw new UsageError("--database and --address can't be combined. Give one of them.");
    return undefined;
  }
  // The settings file is for the server, which has neither setting.
  const given = readTable(remoteSettings, { ...sources, file: undefined }, { help: "cadastre token list --help" }) as {
    readonly [Name in keyof typeof remoteSettings]: string | undefined;
  };
  if (given.address === undefined && given.token === undefined) return undefined;
  if (given.address === undefined || given.token === undefined)
    throw new SettingError("CADASTRE_ADDRESS and CADASTRE_TOKEN go together: set both or neither.");
  return new RemoteServer(given.address, given.token);
}

export class RemoteServer {
  readonly #base: string;
  readonly #token: string;

  constructor(url: string, secret: string) {
    this.#base = url.endsWith("/api/v2") ? url : `${url}/api/v2`;
    this.#token = secret;
  }

  async get(path: string): Promise<WireResource> {
    return this.#resource(await this.#send("GET", path), path);
  }

  async create(path: string, type: string, attributes: WireObject): Promise<WireResource> {
    return this.#resource(await this.#send("POST", path, { data: { type, attributes } }), path);
  }

  async delete(path: string): Promise<void> {
    await this.#send("DELETE", path);
  }

  async list(path: string): Promise<WireResource[]> {
    const resources: WireResource[] = [];
    for (let page: number | undefined = 1; page !== undefined;) {
      const query = `${path.includes("?") ? "&" : "?"}page[number]=${page}&page[size]=100`;
      const document = await this.#send("GET", path + query);
      resources.push(...resourcesOf(document["data"]));
      const { meta } = document;
      const pagination = isObject(meta) && isObject(meta["pagination"]) ? meta["pagination"] : {};
      const next = pagination["next-page"];
      page = typeof next === "number" && next > page ? next : undefined;
    }
    return resources;
  }

  /** Without a name, the token's own user. Throws `not-found`. */
  async findUser(nameOrId: string | undefined): Promise<WireResource> {
    const self = await this.get("/account/details");
    if (nameOrId === undefined || isNamed(self, nameOrId)) return self;
    if (/^user-\w{16}$/.test(nameOrId)) return this.get(`/users/${nameOrId}`);
    const users = await this.list(`/admin/users?q=${encodeURIComponent(nameOrId)}`);
    const found = users.find((user) => isNamed(user, nameOrId));
    if (found === undefined)
      throw new AppError(
        "not-found",
        `There is no user ${quoted(nameOrId)}. Run 'cadastre user list' to see all users.`,
      );
    return found;
  }

  #resource(document: WireObject, path: string): WireResource {
    const resource = resourceOf(document["data"]);
    if (resource === undefined) throw this.#failure(`the response to ${path} is not a document`);
    return resource;
  }

  async #send(method: string, path: string, body?: unknown): Promise<WireObject> {
    let response: Response;
    let document: unknown;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          accept: mediaType,
          "user-agent": `cadastre/${version}`,
          ...(body !== undefined && { "content-type": mediaType }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A redirect would send the token to another server.
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      document = text === "" ? {} : JSON.parse(text);
    } catch (error) {
      const { cause, message } = error as Error & { cause?: Error };
      throw this.#failure(cause?.message || message);
    }
    if (response.ok && isObject(document)) return document;
    if (response.status === 401)
      throw new AppError("unauthorized", `${this.#base} rejected the token. Check CADASTRE_TOKEN.`);
    throw serverError(document) ?? this.#failure(`${method} ${path} returned status ${response.status}`);
  }

  #failure(reason: string): AppError {
    return new AppError("unavailable", `The request to ${this.#base} failed (${reason}). Check CADASTRE_ADDRESS.`);
  }
}

function isNamed(user: WireResource, nameOrId: string): boolean {
  return user.id === nameOrId || fold(textOf(user, "username") ?? "") === fold(nameOrId);
}

function serverError(document: unknown): AppError | undefined {
  const errors = isObject(document) && Array.isArray(document["errors"]) ? document["errors"] : [];
  const details = errors.flatMap((error: unknown) => {
    const detail = isObject(error) ? (error["detail"] ?? error["title"]) : undefined;
    return typeof detail === "string" ? [{ detail }] : [];
  });
  return details.length === 0 ? undefined : new AppError("invalid", details);
}
