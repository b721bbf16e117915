/** Calls the API as the first site admin. */
import assert from "node:assert/strict";
import type { Server } from "./server.ts";

export interface Answer {
  readonly status: number;
  readonly body: any;
}

/** Takes a path below `/api/v2`, or a URL. */
export type Api = (path: string, body?: object, method?: string) => Promise<Answer>;

export function apiOf({ url, token }: Server): Api {
  return async (path, body, method) => {
    const response = await fetch(path.startsWith("http") ? path : `${url}/api/v2${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { authorization: `Bearer ${token}`, "content-type": "application/vnd.api+json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
}

/** Returns the data of a successful response, otherwise throws. */
export function dataOf({ status, body }: Answer): any {
  assert.ok(status >= 200 && status < 300, `the API responded with ${status}: ${JSON.stringify(body)}`);
  return body?.data;
}

export const emailOf = (username: string) => `${username}@acme.example`;

export const passwordOf = (username: string): string => `the password of ${username}`;

/** Returns the user's id. */
export async function addUser(api: Api, username: string): Promise<string> {
  const attributes = { username, email: emailOf(username), password: passwordOf(username) };
  return dataOf(await api("/admin/users", { data: { type: "users", attributes } })).id;
}

export async function addMember(api: Api, organization: string, email: string, teams: readonly string[]) {
  const relationships = { teams: { data: teams.map((id) => ({ type: "teams", id })) } };
  const data = { type: "organization-memberships", attributes: { email }, relationships };
  dataOf(await api(`/organizations/${organization}/organization-memberships`, { data }));
}
