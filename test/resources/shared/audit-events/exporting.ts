/** Long audit logs, and clients that export them at their own pace. */
import { type IncomingMessage, request } from "node:http";
import { newId } from "../../../../src/kernel/ids.ts";
import type { Api } from "../../../support/api.ts";

/** Events of the past: several in each millisecond, so that chunks end between events of the same time. */
export async function fill(
  { database }: Pick<Api, "database">,
  organizationId: string,
  count: number,
  facts: (number: number) => string,
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const rows = Array.from({ length: Math.min(500, count - ids.length) }, (_, at) => ({
      id: newId("audit-events"),
      organizationId,
      actorKind: "user",
      actorId: "user-x",
      actorName: "someone",
      tokenId: null,
      action: "things.do",
      subjectType: "things",
      subjectId: "t-1",
      before: null,
      after: facts(ids.length + at),
      requestId: "request",
      createdAt: new Date(Date.UTC(2020, 0, 1) + Math.floor((ids.length + at) / 7)).toISOString(),
    }));
    await database.write((tx) => tx.db.insertInto("auditEvents").values(rows).execute());
    ids.push(...rows.map(({ id }) => id));
  }
  return ids;
}

/** Requests a table, and reads nothing until asked to. */
export async function askForTable({ url }: Pick<Api, "url">, token: string | undefined, path: string) {
  const headers = { accept: "text/csv", authorization: `Bearer ${token}` };
  const sent = request(`${url}/api/v2${encodeURI(path)}`, { headers, agent: false });
  sent.end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on("response", resolve).on("error", reject);
  const response = await promise;
  sent.on("error", () => {});
  response.on("error", () => {});
  return response;
}
