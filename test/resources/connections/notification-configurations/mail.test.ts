/** Mail to named users, to the members of a team, and to addresses. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeMember, makeOrganization, makeTeam } from "../../../support/builders.ts";
import { useMailbox } from "../../../support/mailbox.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { deliver, make } from "./support.ts";

const api = useApi();
const mailbox = useMailbox();
const mail = () => ({ mail: { url: mailbox.url, from: "Cadastre <cadastre@example.com>" } });

const users = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ type: "users", id })) } });

async function responseOf(owner: { get(path: string): Promise<Json> }, id: string): Promise<Json> {
  return data(await owner.get(`/notification-configurations/${id}`)).attributes["delivery-responses"][0];
}

describe("mail", () => {
  it("goes to users and addresses, who don't see each other, with the event and a link", async () => {
    const org = await makeOrganization(api);
    const workspace = await makeRunnable(api, org.name);
    const [ada, left] = [await makeMember(api, org.name), await makeMember(api, org.name)];
    const attributes = { "destination-type": "email", enabled: true, triggers: ["run:created"] };
    const all = { ...attributes, "email-addresses": ["ops@example.com"] };
    const created = await make(org.owner, `/workspaces/${workspace.id}`, all, users(ada.id, left.id));
    await org.owner.delete(`/organization-memberships/${left.membershipId}`);
    const run = await makeRun(org.owner, workspace.id, { message: "Deploy\r\nBcc: eve@example.com" });
    expect(await deliver(api, mail())).toBe(1);
    const [received] = mailbox.mails;
    const { email } = await api.database.reader.db
      .selectFrom("users")
      .select("email")
      .where("id", "=", ada.id)
      .executeTakeFirstOrThrow();
    expect(received?.to.toSorted()).toEqual(["ops@example.com", email].toSorted());
    const [folded = "", ...rest] = (received?.text ?? "").split("\r\n\r\n");
    const body = rest.join("\n");
    const head = folded.replaceAll(/\r\n[ \t]+/g, " ");
    expect(head).toMatch(/^To: Cadastre <cadastre@example.com>$/m);
    expect(head).toMatch(new RegExp(`^Subject: ${org.name}/${workspace.attributes.name}: Run Created$`, "m"));
    expect(head).toMatch(/^X-Cadastre-Delivery: dlv-/m);
    expect(head).not.toMatch(/ops@example|eve@example/);
    expect(body.replaceAll(/=\r\n/g, "")).toContain(`/runs/${run.id}`);
    expect(await responseOf(org.owner, created.id)).toMatchObject({ code: "250", successful: "true", url: null });
  });

  it("of a team goes to its members if no user is named", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name, { "organization-access": { "read-workspaces": true } });
    await makeMember(api, org.name, [team.id]);
    const workspace = await makeRunnable(api, org.name);
    await make(org.owner, `/teams/${team.id}`, {
      "destination-type": "email",
      enabled: true,
      triggers: ["run:created"],
    });
    await makeRun(org.owner, workspace.id);
    expect(await deliver(api, mail())).toBe(1);
    expect(mailbox.mails.map(({ to }) => to.length)).toEqual([1]);
  });

  it("that can't be sent shows the reason, and is retried", async () => {
    const org = await makeOrganization(api);
    const workspace = await makeRunnable(api, org.name);
    const attributes = { "destination-type": "email", enabled: true, triggers: ["run:created"] };
    const workspacePath = `/workspaces/${workspace.id}`;
    const refused = await make(org.owner, workspacePath, { ...attributes, "email-addresses": ["no@example.com"] });
    const empty = await make(org.owner, workspacePath, attributes);
    mailbox.answer = "550 no such box";
    await makeRun(org.owner, workspace.id);
    expect(await deliver(api, mail())).toBe(2);
    expect(await responseOf(org.owner, refused.id)).toMatchObject({ code: "", body: expect.stringContaining("550") });
    expect(await responseOf(org.owner, empty.id)).toMatchObject({
      body: expect.stringContaining("There are no recipients"),
    });
    await makeRun(org.owner, workspace.id, { "save-plan": true });
    expect(await deliver(api)).toBeGreaterThanOrEqual(2);
    expect((await responseOf(org.owner, refused.id)).body).toContain("CADASTRE_SMTP_URL");
  });
});
