/** Access requests for tests. */
import type { Answer, Caller, Json } from "./api.ts";
import { data, resource } from "./builders.ts";

export const sendRequest = (
  caller: Caller,
  organizationName: string,
  changes: readonly Json[],
  more: object = {},
): Promise<Answer> =>
  caller.post(
    `/organizations/${organizationName}/access-requests`,
    resource("access-requests", { changes, reason: "Incident 4711", ...more }),
  );

export const makeRequest = async (
  caller: Caller,
  organizationName: string,
  changes: readonly Json[],
  more: object = {},
): Promise<Json> => data(await sendRequest(caller, organizationName, changes, more));

export const readRequest = async (caller: Caller, id: string): Promise<Json> =>
  data(await caller.get(`/access-requests/${id}`));

/** `actions/approve`, `deny` or `withdraw`, with what the action requires. */
export const decide = (caller: Caller, id: string, action: string, attributes: object = {}): Promise<Answer> =>
  caller.post(
    `/access-requests/${id}/actions/${action}`,
    action === "withdraw" ? undefined : resource("access-requests", { ...attributes }),
  );

export async function approve(caller: Caller, id: string, attributes: object = {}): Promise<Answer> {
  const shown = await caller.get(`/access-requests/${id}`);
  const version = shown.status === 200 ? shown.body.data.attributes["access-version"] : "0";
  return decide(caller, id, "approve", { "access-version": version, ...attributes });
}

export const deny = (caller: Caller, id: string, comment = "Not now."): Promise<Answer> =>
  decide(caller, id, "deny", { comment });
