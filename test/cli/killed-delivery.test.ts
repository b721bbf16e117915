/** A server is killed after an access request was approved and before its notification was acknowledged: it is delivered again, as the same delivery. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { type Caller, callerOn, type Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import type { Engine } from "../support/database.ts";
import { joining } from "../support/previews.ts";
import { answering, useReceiver } from "../support/receiver.ts";
import { scaled, until } from "../support/waiting.ts";
import { dropRegistersAfterwards, newRegister, startService, stopService } from "./support.ts";

dropRegistersAfterwards();
const receiver = useReceiver();
const adminToken = "the-admin-of-a-killed-service";
const decided = "access-request:decided";

/** A pending request to join the team, by a new member. */
async function requestMembership(admin: Caller, url: string, team: Json): Promise<Json> {
  const person = { username: "dev", email: "dev@example.com" };
  const user = data(await admin.post("/admin/users", resource("users", person)));
  const token = data(await admin.post(`/users/${user.id}/authentication-tokens`)).attributes.token;
  const teams = { teams: { data: [{ type: "teams", id: team.id }] } };
  const body = resource("organization-memberships", { email: person.email }, teams);
  data(await admin.post("/organizations/acme/organization-memberships", body));
  const target = data(
    await admin.post("/organizations/acme/teams", resource("teams", { name: "on-call", visibility: "organization" })),
  );
  const attributes = { reason: "INC-4711", "duration-seconds": 3600, changes: [joining(target.id, user.id)] };
  const requests = "/organizations/acme/access-requests";
  return data(await callerOn(url, token).post(requests, resource("access-requests", attributes)));
}

test.each<Engine>(["sqlite", "postgres"])("on %s", { timeout: scaled(300_000) }, async (engine) => {
  const settings = {
    ...(await newRegister(engine)),
    CADASTRE_ADMIN_TOKEN: adminToken,
    CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1",
    CADASTRE_LOG_LEVEL: "fatal",
  };
  const service = await startService(settings);
  const admin = callerOn(service.url, adminToken);
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@example.com" })));
  const [owners] = data(await admin.get("/organizations/acme/teams?filter[names]=owners"));
  const subscription = { name: "Requests", "destination-type": "generic", enabled: true, url: receiver.url };
  const configuration = resource("notification-configurations", { ...subscription, triggers: [decided] });
  data(await admin.post(`/teams/${owners.id}/notification-configurations`, configuration));
  const team = data(await admin.post("/organizations/acme/teams", resource("teams", { name: "developers" })));
  const request = await requestMembership(admin, service.url, team);

  receiver.heard.length = 0;
  // The receiver never responds while the first server runs.
  receiver.answer = () => {};
  const approval = resource("access-requests", { "access-version": request.attributes["access-version"] });
  data(await admin.post(`/access-requests/${request.id}/actions/approve`, approval));
  await until(() => receiver.heard.length > 0);
  service.process.kill("SIGKILL");
  await once(service.process, "exit");

  receiver.answer = answering(200);
  const next = await startService(settings);
  await until(() => receiver.heard.length > 1);
  const [first, second] = receiver.heard.map(({ headers }) => headers["x-cadastre-delivery"]);
  expect(first).toMatch(/^dlv-/);
  expect(second).toBe(first);
  for (const { body, text } of receiver.heard)
    expect([body.trigger, text.includes(request.id)]).toEqual([decided, true]);
  const shown = data(await callerOn(next.url, adminToken).get(`/access-requests/${request.id}`));
  expect(shown.attributes.status).toBe("approved");
  expect((await stopService(next)).code).toBe(0);
});
