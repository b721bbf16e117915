/** Invited users as recipients of mail, and what happens when they join or don't. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, makeMember, makeOrganization, makeUser, makeWorkspace, resource } from "../../../support/builders.ts";
import { invite, invitationLinks } from "../../../support/invitations.ts";
import { useMailbox } from "../../../support/mailbox.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { deliver, make, post } from "./support.ts";

const api = useApi();
const mailbox = useMailbox();
const mail = () => ({ mail: { url: mailbox.url, from: "Cadastre <cadastre@example.com>" } });
const byMail = { "destination-type": "email", enabled: true, triggers: ["run:created"] };

const naming = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ type: "users", id })) } });
const namedIn = ({ relationships }: Json): string[] => relationships.users.data.map(({ id }: Json) => id);
const show = (caller: Caller, { id }: Json) => caller.get(`/notification-configurations/${id}`);
const named = async (caller: Caller, configuration: Json) => namedIn(data(await show(caller, configuration)));

/** An organization with an invited user who is a recipient in a workspace. */
async function makeInvitedRecipient() {
  const org = await makeOrganization(api);
  const workspace = await makeRunnable(api, org.name);
  const invited = await invite(org);
  const userId: string = invited.membership.relationships.user.data.id;
  const workspacePath = `/workspaces/${workspace.id}`;
  const configuration = await make(org.owner, workspacePath, byMail, naming(userId));
  return { org, workspace, workspacePath, invited, userId, configuration };
}

describe("an invited recipient", () => {
  it("is named and shown by the placeholder id, and gets mail at the invited address", async () => {
    const { org, workspace, invited, userId, configuration } = await makeInvitedRecipient();
    expect(namedIn(configuration)).toEqual([userId]);
    expect(await named(org.owner, configuration)).toEqual([userId]);
    await makeRun(org.owner, workspace.id);
    mailbox.mails.length = 0;
    expect(await deliver(api, mail())).toBe(1);
    expect(mailbox.mails.map(({ to }) => to)).toEqual([[invited.email]]);
  });

  it("becomes the user who joins, at the user's address, and the ETag changes", async () => {
    const { org, workspace, invited, userId, configuration } = await makeInvitedRecipient();
    const before = (await show(org.owner, configuration)).headers.get("etag");
    const ada = await makeUser(api);
    data(await invitationLinks(api).accept(invited.secret, ada));
    const after = await show(org.owner, configuration);
    expect(namedIn(after.body.data)).toEqual([ada.id]);
    expect(after.headers.get("etag")).not.toBe(before);
    // The placeholder id is no longer valid.
    const again = await post(org.owner, `/workspaces/${workspace.id}`, byMail, naming(userId));
    expect(again.status).toBe(422);
    expect(again.body.errors[0].detail).toBe(`There is no user '${userId}' in this organization`);
    await makeRun(org.owner, workspace.id);
    mailbox.mails.length = 0;
    await deliver(api, mail());
    const { email } = data(await ada.get("/account/details")).attributes;
    expect(mailbox.mails.map(({ to }) => to)).toEqual([[email]]);
  });

  it("is merged with an existing membership, and named once", async () => {
    const { org, workspacePath, invited, userId, configuration } = await makeInvitedRecipient();
    const ada = await makeMember(api, org.name);
    const both = await make(org.owner, workspacePath, byMail, naming(ada.id, userId));
    expect(namedIn(both)).toEqual([ada.id, userId].toSorted());
    data(await invitationLinks(api).accept(invited.secret, ada));
    expect(await named(org.owner, configuration)).toEqual([ada.id]);
    expect(await named(org.owner, both)).toEqual([ada.id]);
  });

  it("is removed when the invitation is withdrawn", async () => {
    const { org, invited, configuration } = await makeInvitedRecipient();
    expect((await org.owner.delete(`/organization-memberships/${invited.membership.id}`)).status).toBe(204);
    expect(await named(org.owner, configuration)).toEqual([]);
  });

  it("can replace another recipient by an update, in any order; repeating it changes nothing", async () => {
    const { org, userId, configuration } = await makeInvitedRecipient();
    const [ada, grace] = [await makeMember(api, org.name), await makeMember(api, org.name)];
    const path = `/notification-configurations/${configuration.id}`;
    const update = async (...ids: string[]) =>
      org.owner.patch(path, resource("notification-configurations", {}, naming(...ids)));
    expect(namedIn(data(await update(grace.id, ada.id)))).toEqual([ada.id, grace.id].toSorted());
    expect(await named(org.owner, configuration)).toEqual([ada.id, grace.id].toSorted());
    const first = await update(grace.id, userId);
    expect(await named(org.owner, configuration)).toEqual([grace.id, userId].toSorted());
    const second = await update(userId, grace.id);
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
  });

  it("422: a user who is invited to another organization", async () => {
    const { userId } = await makeInvitedRecipient();
    const other = await makeOrganization(api);
    const workspace = await makeWorkspace(api, other.name);
    const refused = await post(other.owner, `/workspaces/${workspace.id}`, byMail, naming(userId));
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].source.pointer).toBe("/data/relationships/users");
  });
});
