/** Creates, opens, accepts and expires invitation links. */
import type { Answer, Api, Caller, Json } from "./api.ts";
import { cookieOf, secretInUrl } from "./browser.ts";
import { data, type Org, resource, unique } from "./builders.ts";

export const password = "correct horse battery staple";
export const newEmail = () => `${unique("grace")}@acme.example`;

export const invitationBody = (email: string, teamIds: readonly string[] = []) =>
  resource("organization-memberships", { email }, { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } });

export interface InvitationOptions {
  readonly by?: Caller;
  readonly email?: string;
  readonly teamIds?: readonly string[];
}

export async function invite(org: Org, { by = org.owner, email = newEmail(), teamIds = [] }: InvitationOptions = {}) {
  const answer = await by.post(`/organizations/${org.name}/organization-memberships`, invitationBody(email, teamIds));
  const membership = data(answer);
  return { membership, email, secret: secretInUrl(membership.attributes["invitation-url"]) };
}

export function invitationLinks(api: Api) {
  const end = (membershipId: string) =>
    api.database.write((tx) =>
      tx.db
        .updateTable("invitations")
        .set({ expiresAt: new Date().toISOString() })
        .where("membershipId", "=", membershipId)
        .execute(),
    );

  const show = (secret: string) => api.nobody.get(`/invitations/${secret}`);
  const register = (secret: string, attributes: object, headers: Record<string, string> = {}) =>
    api.nobody.post(`/invitations/${secret}/actions/register`, resource("invitations", attributes), headers);
  const accept = (secret: string, by: Caller) => by.post(`/invitations/${secret}/actions/accept`);
  const registered = (secret: string) => register(secret, { username: unique("grace"), password });
  const membershipOf = async (id: string): Promise<Json> =>
    data(await api.admin.get(`/organization-memberships/${id}`));
  const account = async (answer: Answer): Promise<Json> =>
    data(await api.nobody.get("/account/details", { cookie: cookieOf(answer) }));
  const actionsOf = async (answer: Answer): Promise<string[]> => {
    const rows = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId", "tokenId", "after"])
      .where("requestId", "=", answer.headers.get("x-request-id"))
      .orderBy("action")
      .execute();
    return rows.map(({ action }) => action);
  };
  return { end, show, register, accept, registered, membershipOf, account, actionsOf };
}
