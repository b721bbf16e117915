/** Callers with a browser session: the cookie, and the headers that a page of the console sends. */
import { argon2Sync } from "node:crypto";
import { expect } from "vitest";
import { type Answer, type Api, type Caller, mediaType } from "./api.ts";
import { data, type Person, resource } from "./builders.ts";

export function cookieOf(answer: Answer): string {
  const cookie = answer.headers.get("set-cookie");
  expect(cookie).toBeTypeOf("string");
  return (cookie ?? "").split(";")[0] ?? "";
}

export const browserHeaders = (api: Api, cookie: string): Record<string, string> => ({
  cookie,
  origin: api.url,
  "content-type": mediaType,
});

export async function signInWithToken(api: Api, { token }: Pick<Caller, "token">): Promise<Caller> {
  const answer = await api.nobody.post("/sessions", resource("sessions", { token }));
  data(answer);
  return withCookie(api, cookieOf(answer));
}

const password = "a password for signing in";
const salt = Buffer.from("of sixteen bytes");
const cheap = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 } as const;
const tag = argon2Sync("argon2id", { ...cheap, message: password, nonce: salt });
const [saltText, tagText] = [salt, tag].map((bytes) => bytes.toString("base64").replace(/=+$/, ""));
/** Costs nothing to verify, because a hash is stored with its parameters. */
const hash = `$argon2id$v=19$m=${cheap.memory},t=${cheap.passes},p=${cheap.parallelism}$${saltText}$${tagText}`;

/** Signed in with a password, because a token's session can have fewer permissions. */
export async function signInWithPassword(api: Api, { id, username }: Pick<Person, "id" | "username">): Promise<Caller> {
  const row = { userId: id, hash, changedAt: new Date().toISOString(), version: 1 };
  await api.database.write(({ db }) =>
    db
      .insertInto("passwords")
      .values(row)
      .onConflict((existing) => existing.column("userId").doUpdateSet(row))
      .execute(),
  );
  const answer = await api.nobody.post("/sessions", resource("sessions", { username, password }));
  data(answer);
  return withCookie(api, cookieOf(answer));
}

export function withCookie(api: Api, cookie: string): Caller {
  const send: Caller["send"] = (method, path, body, headers) =>
    api.nobody.send(method, path, body, { ...browserHeaders(api, cookie), ...headers });
  return {
    token: undefined,
    send,
    get: (path, headers) => send("GET", path, undefined, headers),
    post: (path, body, headers) => send("POST", path, body, headers),
    patch: (path, body, headers) => send("PATCH", path, body, headers),
    delete: (path, body, headers) => send("DELETE", path, body, headers),
  };
}

export const secretInUrl = (url: string): string => url.split("/").at(-1) ?? "";
