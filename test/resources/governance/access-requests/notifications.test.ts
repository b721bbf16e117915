/** Notifications and mail about access requests: to whom, with what, and when there are none. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { useMailbox } from "../../../support/mailbox.ts";
import { makeOffer, seatIn, takeBody, teamsNamed } from "../../../support/offers.ts";
import { joining } from "../../../support/previews.ts";
import { answering, useReceiver } from "../../../support/receiver.ts";
import { deliver, make, makeDue, post } from "../../connections/notification-configurations/support.ts";

/** The server only stores mail; the delivery job sends it to the mailbox. */
const api = useApi({ options: { mail: { url: "smtp://127.0.0.1:1", from: "Cadastre <cadastre@example.com>" } } });
const mailbox = useMailbox();
const receiver = useReceiver();
const send = () => deliver(api, { mail: { url: mailbox.url, from: "Cadastre <cadastre@example.com>" } });

const created = "access-request:created";
const decided = "access-request:decided";
const breakGlass = "access-request:break-glass";

let org: Org;
let onCall: Json;
/** Can make seats. */
let lead: Member & { teamId: string };
let bystanders: Json;
let dev: Member;
let developers: Json;

beforeEach(async () => {
  org = await api.makeOrganization();
  onCall = await api.makeTeam(org.name);
  lead = await api.makeHolder(org.name, "manage-membership");
  bystanders = await api.makeTeam(org.name);
  await api.makeMember(org.name, [bystanders.id]);
  developers = await api.makeTeam(org.name);
  dev = await api.makeMember(org.name, [developers.id]);
});

const subscribe = async (teamId: string, attributes: object = {}): Promise<Json> => {
  const triggers = [created, decided, breakGlass];
  const made = await make(org.owner, `/teams/${teamId}`, { enabled: true, triggers, url: receiver.url, ...attributes });
  receiver.heard.length = 0;
  return made;
};
const ask = async (changes = [joining(onCall.id, dev.id)]): Promise<Json> => {
  const attributes = { reason: "Incident 4711", "duration-seconds": 3600, changes };
  return data(await dev.post(`/organizations/${org.name}/access-requests`, resource("access-requests", attributes)));
};
const decide = (action: string, { id, attributes }: Json, sent: object = {}, by: Caller = lead) =>
  by.post(
    `/access-requests/${id}/actions/${action}`,
    resource("access-requests", {
      ...(action === "approve" && { "access-version": attributes["access-version"] }),
      ...sent,
    }),
  );
const takeOffer = async (approvals: string, approvers: readonly string[] = []): Promise<Json> => {
  const made = await makeOffer(org.owner, org.name, [seatIn(onCall.id)], [developers.id], { approvals, name: "Seats" });
  const teams = resource("access-offers", {}, { "approver-teams": teamsNamed(...approvers) });
  data(await org.owner.patch(`/access-offers/${made.id}`, teams));
  return data(await dev.post(`/access-offers/${made.id}/actions/take`, takeBody()));
};
const heardBy = () => receiver.heard.map(({ body }) => body.notification_configuration_id).toSorted();
/** Without the site admin, who created the organization and owns it too. */
const recipients = () =>
  mailbox.mails
    .flatMap(({ to }) => to)
    .filter((address) => address !== "admin@localhost")
    .toSorted();

describe("a new request", () => {
  it("is sent to each team with a member who may decide, by its own configurations, with what was asked", async () => {
    const own = await subscribe(lead.teamId);
    await subscribe(bystanders.id);
    await subscribe(onCall.id);
    await subscribe(lead.teamId, { triggers: [decided] });
    const owners = await subscribe(org.ownersTeamId);
    const request = await ask();
    await send();
    expect(heardBy()).toEqual([own.id, owners.id].toSorted());
    const [message] = receiver.heard;
    expect(message?.headers).toMatchObject({
      "x-cadastre-event": created,
      "x-cadastre-delivery": expect.stringMatching(/^dlv-/),
    });
    expect(message?.body).toMatchObject({
      payload_version: "2",
      trigger_scope: "access-request",
      trigger: created,
      message: `${dev.username} asks for access`,
      details: {
        access_request_id: request.id,
        access_request_url: `https://cadastre.example/app/${org.name}/access-requests/${request.id}`,
        status: "pending",
        requested_by: dev.username,
        reason: "Incident 4711",
        duration_seconds: 3600,
        offer_name: null,
        decided_by: null,
        organization_name: org.name,
      },
    });
  });

  it("is mailed to those who may decide, each alone, and not to the requester", async () => {
    const request = await ask();
    await send();
    expect(mailbox.mails.map(({ to }) => to.length)).toEqual([1, 1, 1]);
    expect(recipients()).toEqual([lead.email, org.owner.email].toSorted());
    const text = (mailbox.mails[0]?.text ?? "").replaceAll(/\r\n[ \t]+/g, " ").replaceAll("=\r\n", "");
    expect(text).toMatch(new RegExp(`^Subject: ${org.name}: ${dev.username} asks for access$`, "m"));
    expect(text).toContain(`/access-requests/${request.id}`);
    expect(text).toContain("Incident 4711");
  });

  it("is not mailed to somebody who would gain by it", async () => {
    const insider = await api.makeMember(org.name, [lead.teamId]);
    await ask([joining(onCall.id, dev.id, insider.id)]);
    await send();
    expect(recipients()).toEqual([lead.email, org.owner.email].toSorted());
  });

  it("from an offer goes to its approver teams too, and is mailed to at most 50", async () => {
    const approvers = await api.makeTeam(org.name);
    for (let count = 0; count < 51; count += 1) await api.makeMember(org.name, [approvers.id]);
    const own = await subscribe(approvers.id);
    await takeOffer("one", [approvers.id]);
    await send();
    expect(heardBy()).toEqual([own.id]);
    expect(receiver.heard[0]?.body.details.offer_name).toBe("Seats");
    expect(mailbox.mails).toHaveLength(50);
  });

  it("fits Slack, Microsoft Teams and mail", async () => {
    for (const type of ["slack", "microsoft-teams"]) await subscribe(lead.teamId, { "destination-type": type });
    const addresses = { url: null, "destination-type": "email", "email-addresses": ["ops@example.com"] };
    await subscribe(lead.teamId, addresses);
    await ask();
    await send();
    const texts = receiver.heard.map(({ text }) => text);
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      expect(text).toContain(`${dev.username} asks for access`);
      expect(text).toContain("Incident 4711");
    }
    expect(recipients()).toContain("ops@example.com");
  });
});

describe("a decision", () => {
  it.each([
    ["approve", "approved", {}],
    ["deny", "denied", { comment: "Not today" }],
  ])("%s: is mailed to the requester, and sent to the teams that may decide", async (action, status, sent) => {
    const own = await subscribe(lead.teamId, { triggers: [decided] });
    const request = await ask();
    await send();
    mailbox.mails.length = 0;
    data(await decide(action, request, sent));
    await send();
    expect(heardBy()).toEqual([own.id]);
    expect(receiver.heard[0]?.body).toMatchObject({
      trigger: decided,
      message: `The access request of ${dev.username} is ${status}`,
      details: { status, decided_by: lead.username, decision_comment: action === "deny" ? "Not today" : null },
    });
    expect(recipients()).toEqual([dev.email]);
    expect(mailbox.mails[0]?.text).toContain(`is ${status}`);
  });

  it("there is none about a request that was withdrawn, or whose approval was refused", async () => {
    await subscribe(lead.teamId, { triggers: [decided] });
    const [one, other] = [await ask(), await ask()];
    await send();
    mailbox.mails.length = 0;
    expect((await decide("approve", other, { "access-version": "0" })).status).toBe(412);
    data(await dev.post(`/access-requests/${one.id}/actions/withdraw`));
    await send();
    expect([receiver.heard, mailbox.mails]).toEqual([[], []]);
  });

  it("reaches nobody who has left the organization since", async () => {
    const request = await ask();
    data(await decide("approve", request));
    await org.owner.delete(`/organization-memberships/${dev.membershipId}`);
    await send();
    expect(recipients()).not.toContain(dev.email);
  });
});

describe("break-glass access", () => {
  it("is sent to the owners team alone, and mailed to all owners", async () => {
    const second = await api.makeMember(org.name, [org.ownersTeamId]);
    const owners = await subscribe(org.ownersTeamId);
    await subscribe(lead.teamId);
    const request = await takeOffer("none");
    await send();
    expect(heardBy()).toEqual([owners.id]);
    expect(receiver.heard[0]?.body).toMatchObject({
      trigger: breakGlass,
      message: `${dev.username} used break-glass access`,
      details: { access_request_id: request.id, status: "approved", offer_name: "Seats", decided_by: null },
    });
    expect(recipients()).toEqual([second.email, org.owner.email].toSorted());
  });
});

describe("delivery", () => {
  it("is repeated with the same id until the receiver accepts it", async () => {
    await subscribe(lead.teamId);
    await ask();
    receiver.answer = answering(500);
    await send();
    receiver.answer = answering(200);
    await makeDue(api);
    await send();
    const [first, second] = receiver.heard.map(({ headers }) => headers["x-cadastre-delivery"]);
    expect(receiver.heard).toHaveLength(2);
    expect(second).toBe(first);
  });

  it("has no secrets: neither addresses nor the changes' bodies", async () => {
    await subscribe(lead.teamId);
    await ask();
    await send();
    expect(receiver.heard[0]?.text).not.toMatch(/@|"changes"/);
  });
});

describe("the triggers", () => {
  it("422: for a workspace or project", async () => {
    const workspace = await api.makeWorkspace(org.name);
    for (const parent of [`/workspaces/${workspace.id}`, `/projects/${org.defaultProjectId}`]) {
      const answer = await post(org.owner, parent, { url: "https://x.example", triggers: [created] });
      expect([answer.status, pointers(answer)]).toEqual([422, ["/data/attributes/triggers"]]);
    }
  });
});
