/** Overrides of the sign-in operations: invitation links, sessions, passwords. */
import type { Api, Caller } from "./api.ts";
import { signInWithPassword } from "./browser.ts";
import { data, makeUser, resource, unique } from "./builders.ts";
import { invite, password } from "./invitations.ts";
import type { Scene, RequestOverride, RequestOverrides } from "./request-overrides.ts";

async function invited(scene: Scene): Promise<RequestOverride> {
  return { params: { invitation_secret: (await invite(scene.tenant)).secret } };
}

const signIn = async (api: Api, { token }: Caller): Promise<string> =>
  data(await api.nobody.post("/sessions", resource("sessions", { token }))).id;

export const signInOverrides: RequestOverrides = {
  // The password in the example.
  changePassword: async ({ api }) => {
    const caller = await makeUser(api);
    const known = resource("users", { password: "correct horse battery" });
    data(await api.admin.patch(`/admin/users/${caller.id}`, known));
    return { caller };
  },
  createSession: async ({ tenant }) => ({ body: resource("sessions", { token: tenant.owner.token }) }),
  showInvitation: invited,
  registerByInvitation: async (scene) => ({
    ...(await invited(scene)),
    body: resource("invitations", { username: unique("grace"), password }),
  }),
  acceptInvitation: async (scene) => ({ ...(await invited(scene)), caller: await makeUser(scene.api) }),
  createUserInvitation: async ({ api }) => ({ params: { user_id: (await makeUser(api)).id } }),
  renewInvitation: async (scene) => ({ params: { membership_id: (await invite(scene.tenant)).membership.id } }),
  // Only a person in a browser is allowed.
  createAuthorization: async ({ tenant, api }) => ({ caller: await signInWithPassword(api, tenant.owner) }),
  deleteSession: async ({ tenant, api }) => ({ params: { session_id: await signIn(api, tenant.owner) } }),
  deleteSessions: async ({ tenant, api }) => {
    await signIn(api, tenant.owner);
    return {};
  },
};
