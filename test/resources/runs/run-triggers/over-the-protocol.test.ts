/** A run from its claim to the runs that its apply triggers, all over HTTP: log, JSON plan, identity, run trigger. */
import { createPublicKey, verify } from "node:crypto";
import { expect, it } from "vitest";
import { fireTriggers } from "../../../../src/resources/runs/run-triggers/firing.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, resource } from "../../../support/builders.ts";
import { makeAgent, makeSitePool } from "../../../support/agent-callers.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";

const woken: string[] = [];
const api = useApi({ wake: (job) => woken.push(job) });

const plan = JSON.stringify({
  format_version: "1.2",
  output_changes: { password: { actions: ["create"], before: null, after: "hunter2", after_sensitive: true } },
});

it("goes from the claim to the runs that it triggers", async () => {
  const org = await makeOrganization(api);
  const [source, target] = [await makeRunnable(api, org.name), await makeRunnable(api, org.name)];
  for (const { id } of [source, target])
    await org.owner.patch(`/workspaces/${id}`, resource("workspaces", { "terraform-version": "1.9.5" }));
  const audienceVariable = { key: "TFC_WORKLOAD_IDENTITY_AUDIENCE_VAULT", value: "vault.example", category: "env" };
  data(await org.owner.post(`/workspaces/${source.id}/vars`, resource("vars", audienceVariable)));
  const sourceable = { data: { type: "workspaces", id: source.id } };
  data(await org.owner.post(`/workspaces/${target.id}/run-triggers`, resource("run-triggers", {}, { sourceable })));
  const agent = await makeAgent(api, await makeSitePool(api));
  const run = await makeRun(org.owner, source.id, { "auto-apply": true });
  const planPath = `/plans/${run.relationships.plan.data.id}`;

  const job: Json = (await agent.claim()).body.data;
  const path = `/agent-jobs/${job.id}`;
  const send = (method: string, to: string, body?: unknown) => agent.send(method, `${path}${to}`, body);
  expect((await send("PUT", "/log?attempt=1&offset=0", "Terraform v1.9.5\n")).status).toBe(204);
  const log = data(await org.owner.get(planPath)).attributes["log-read-url"];
  expect(await (await fetch(`${log}?limit=65536&offset=0`)).text()).toBe("\u0002Terraform v1.9.5\n");
  expect((await send("PUT", "/contents/plan-json?attempt=1", plan)).status).toBe(204);
  expect((await org.owner.get(`${planPath}/json-output-redacted`)).status).toBe(204);
  const ended = { attempt: 1, result: "finished", "has-changes": true };
  expect((await send("POST", "/actions/finish", ended)).status).toBe(204);
  const drawn = (await org.owner.get(`${planPath}/json-output-redacted`)).body;
  expect(drawn.output_changes.password.after).toBe("(sensitive value 1)");
  expect(await fetch(`${log}?limit=9&offset=17`).then((answer) => answer.text())).toBe("\n\u0003");

  const [{ name, value }] = job.attributes["identity-tokens"];
  expect(name).toBe("TFC_WORKLOAD_IDENTITY_TOKEN_VAULT");
  const [head = "", body = "", signature = ""] = value.split(".");
  const [jwk] = (await api.nobody.get("/.well-known/jwks")).body.keys;
  const key = createPublicKey({ key: jwk, format: "jwk" });
  expect(verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  expect(JSON.parse(Buffer.from(body, "base64url").toString())).toMatchObject({
    aud: "vault.example",
    iss: api.url,
    sub: `organization:${org.name}:project:Default Project:workspace:${source.attributes.name}:run_phase:plan`,
    terraform_run_id: run.id,
  });

  const apply: Json = (await agent.claim()).body.data;
  expect(apply.attributes.phase).toBe("apply");
  expect(woken).not.toContain("run-triggers");
  const done = { attempt: apply.attributes.attempt, result: "finished" };
  expect((await agent.post(`/agent-jobs/${apply.id}/actions/finish`, done)).status).toBe(204);
  expect(woken).toContain("run-triggers");
  expect(await fireTriggers(jobContextOf(api))).toBe(1);
  const [caused] = (await org.owner.get(`/workspaces/${target.id}/runs`)).body.data;
  expect(caused.attributes["trigger-reason"]).toBe("run_trigger");
  const shown = data(await org.owner.get(`/workspaces/${source.id}`)).attributes;
  expect(shown["workspace-kpis-runs-count"]).toBe(1);
});
