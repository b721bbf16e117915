/** A server that a command asks over its API, instead of opening the database: found by `--address` and `--token`, or the environment. */
import { AppError } from "../kernel/errors.ts";
import { SettingError, readTable } from "../kernel/settings.ts";
import { fold, quoted } from "../kernel/text.ts";
import { isObject, type Json, textOf, type Thing, thingOf, thingsOf } from "../moving/wire.ts";
import { version } from "../version.ts";
import { type Invocation, UsageError } from "./command.ts";
import { commandSettingTable } from "./environment.ts";

const { address, token } = commandSettingTable;
/** For a command that works on the database, or over the API where an address is given. */
export const remoteSettings = { address, token };

export const remoteDetails =
  "With --address and --token (or CADASTRE_ADDRESS and CADASTRE_TOKEN) it asks that server over its API, with the rights of the token; without them it opens the database that the settings name.";

const timeoutMs = 60_000;
const mediaType = "application/vnd.api+json";

/** Undefined where the command works on the database. Raises SettingError, and UsageError where flags name both. */
export function remoteOf({ sources }: Pick<Invocation, "sources">): RemoteServer | undefined {
  const { flags = {} } = sources;
  if ((flags["database"] ?? flags["databaseFile"]) !== undefined) {
    if (flags["address"] !== undefined)
      throw new UsageError("--database and --address exclude each other: give one of them.");
    // A flag wins over the environment.
    return undefined;
  }
  // The settings file is the server's, which has neither.
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

  async get(path: string): Promise<Thing> {
    return this.#thing(await this.#ask("GET", path), path);
  }

  async create(path: string, type: string, attributes: Json): Promise<Thing> {
    return this.#thing(await this.#ask("POST", path, { data: { type, attributes } }), path);
  }

  async delete(path: string): Promise<void> {
    await this.#ask("DELETE", path);
  }

  /** All pages. */
  async list(path: string): Promise<Thing[]> {
    const things: Thing[] = [];
    for (let page: number | undefined = 1; page !== undefined;) {
      const query = `${path.includes("?") ? "&" : "?"}page[number]=${page}&page[size]=100`;
      const document = await this.#ask("GET", path + query);
      things.push(...thingsOf(document["data"]));
      const { meta } = document;
      const pagination = isObject(meta) && isObject(meta["pagination"]) ? meta["pagination"] : {};
      const next = pagination["next-page"];
      page = typeof next === "number" && next > page ? next : undefined;
    }
    return things;
  }

  /** By name, ignoring case, or by id; the token's own user where none is named. Raises `not-found`. */
  async findUser(nameOrId: string | undefined): Promise<Thing> {
    const self = await this.get("/account/details");
    if (nameOrId === undefined || isNamed(self, nameOrId)) return self;
    if (/^user-\w{16}$/.test(nameOrId)) return this.get(`/users/${nameOrId}`);
    const users = await this.list(`/admin/users?q=${encodeURIComponent(nameOrId)}`);
    const found = users.find((user) => isNamed(user, nameOrId));
    if (found === undefined)
      throw new AppError("not-found", `There is no user ${quoted(nameOrId)}. 'cadastre user list' shows who there is.`);
    return found;
  }

  #thing(document: Json, path: string): Thing {
    const thing = thingOf(document["data"]);
    if (thing === undefined) throw this.#failure(`it answers ${path} without a document`);
    return thing;
  }

  /** Raises `unavailable`, or what the server answers. */
  async #ask(method: string, path: string, body?: unknown): Promise<Json> {
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
        // A redirect would take the token elsewhere.
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
      throw new AppError("unauthorized", `${this.#base} does not know the token. Check CADASTRE_TOKEN.`);
    throw refusal(document) ?? this.#failure(`it answers ${method} ${path} with ${response.status}`);
  }

  #failure(reason: string): AppError {
    return new AppError("unavailable", `${this.#base} can't be used (${reason}). Check CADASTRE_ADDRESS.`);
  }
}

function isNamed(user: Thing, nameOrId: string): boolean {
  return user.id === nameOrId || fold(textOf(user, "username") ?? "") === fold(nameOrId);
}

/** What the server says is wrong; undefined where it says nothing. */
function refusal(document: unknown): AppError | undefined {
  const errors = isObject(document) && Array.isArray(document["errors"]) ? document["errors"] : [];
  const details = errors.flatMap((error: unknown) => {
    const detail = isObject(error) ? (error["detail"] ?? error["title"]) : undefined;
    return typeof detail === "string" ? [{ detail }] : [];
  });
  return details.length === 0 ? undefined : new AppError("invalid", details);
}
