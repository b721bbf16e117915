/** Invitations by mail: the link is sent to the invited person, and readable nowhere else. */
import pino from "pino";
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, resource, unique } from "../../../support/builders.ts";
import { invite, invitationLinks, newEmail } from "../../../support/invitations.ts";
import { type ReceivedMail, useMailbox } from "../../../support/mailbox.ts";
import { deliver, makeDue } from "../../connections/notification-configurations/support.ts";

const logged: string[] = [];
const logger = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
const from = "Cadastre <cadastre@example.com>";
const mailbox = useMailbox();
const api = useApi({ logger, options: { mail: { url: "smtp://127.0.0.1:1", from } } });

const send = () => deliver(api, { mail: { url: mailbox.url, from } });
/** Joins the lines that the mail encoding splits. */
const textOf = (mail: ReceivedMail | undefined) => (mail?.text ?? "").replaceAll(/=\r\n/g, "").replaceAll("=3D", "=");
const linkIn = (mail: ReceivedMail | undefined) => /\/app\/invitations\/(\S+)/.exec(textOf(mail))?.[1] ?? "none";
const rows = () => api.database.reader.db.selectFrom("notices").selectAll().orderBy("createdAt").execute();

describe("a person who is invited to an organization", () => {
  it("gets a working link, which is in neither the log nor the database", async () => {
    const org = await makeOrganization(api);
    const { email, secret, membership } = await invite(org);
    const [waiting] = await rows();
    expect(waiting).toMatchObject({ kind: "invitation", organizationId: org.id, state: "waiting" });
    expect(waiting?.secret).toBeInstanceOf(Uint8Array);
    expect(JSON.stringify({ ...waiting, secret: Buffer.from(waiting?.secret ?? "").toString("latin1") })).not.toContain(
      secret,
    );
    expect(await send()).toBe(1);
    const [mail] = mailbox.mails;
    expect(mail?.to).toEqual([email]);
    expect(mail?.text).toMatch(new RegExp(`^Subject: Invitation to ${org.name} on Cadastre`, "m"));
    expect(linkIn(mail)).toBe(secret);
    expect(await rows()).toMatchObject([{ state: "delivered", secret: null }]);
    expect(logged.join("\n")).not.toContain(secret);
    const { registered } = invitationLinks(api);
    expect((await registered(linkIn(mail))).status).toBe(201);
    expect(data(await org.owner.get(`/organization-memberships/${membership.id}`)).attributes.status).toBe("active");
  });

  it("gets the new link after a renewal, and not the previous one", async () => {
    const org = await makeOrganization(api);
    const { membership } = await invite(org);
    const path = `/organization-memberships/${membership.id}/actions/renew-invitation`;
    const renewed = data(await org.owner.post(path)).attributes["invitation-url"];
    await send();
    expect(mailbox.mails.map(linkIn)).toEqual([renewed.split("/").at(-1)]);
  });

  it("gets nothing if the invitation was revoked, or nobody is invited", async () => {
    const org = await makeOrganization(api);
    const { membership } = await invite(org);
    await org.owner.delete(`/organization-memberships/${membership.id}`);
    const { email } = await api.admin
      .post("/admin/users", resource("users", { username: unique("ada"), email: newEmail() }))
      .then((answer) => data(answer).attributes);
    await org.owner.post(
      `/organizations/${org.name}/organization-memberships`,
      resource("organization-memberships", { email }, { teams: { data: [] } }),
    );
    await send();
    expect(mailbox.mails).toEqual([]);
  });

  it("gets the mail after retries, and the link is deleted after the last attempt", async () => {
    const org = await makeOrganization(api);
    await invite(org);
    mailbox.answer = "450 later";
    const before = (await rows()).length;
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await send();
      await makeDue(api);
    }
    const last = (await rows()).at(before - 1);
    expect(last).toMatchObject({ state: "failed", attempts: 5, secret: null });
    expect(last?.response).toContain("450");
  });
});

describe("a user without a password", () => {
  it("gets the link that a site admin creates", async () => {
    const email = newEmail();
    const user = data(await api.admin.post("/admin/users", resource("users", { username: unique("ada"), email })));
    const created = data(await api.admin.post(`/admin/users/${user.id}/invitation`));
    await send();
    expect(mailbox.mails.map(({ to }) => to)).toEqual([[email]]);
    expect(mailbox.mails[0]?.text).toContain("Subject: Set your password on Cadastre");
    expect(linkIn(mailbox.mails[0])).toBe(created.attributes["invitation-url"].split("/").at(-1));
  });
});
