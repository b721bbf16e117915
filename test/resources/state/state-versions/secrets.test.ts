/** Signed URLs and state contents appear neither in the log, nor in the audit log, nor unencrypted in any table. */
import pino from "pino";
import { expect, it } from "vitest";
import { parseLargeStates } from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { dump } from "../../../support/database-snapshots.ts";
import {
  base64,
  fetchState,
  managed,
  put,
  slowPut,
  stateOf,
  stateOfSize,
  jobContextOf,
} from "../../../support/states.ts";
import { contentsOf, expectSent, jsonUploadUrlOf, uploadUrlOf, useStage } from "./support.ts";

const lines: string[] = [];
const api = useApi({ logger: pino({ level: "trace" }, { write: (line) => lines.push(line) }) });
const stage = useStage(api);

const facts = {
  outputs: {
    hidden: { value: "secret-output", type: "string", sensitive: true },
    open: { value: "secret-though-open", type: "string" },
  },
  resources: [managed("one", 1, { password: "secret-attribute" })],
};

it("whatever requests do with states", async () => {
  const { owner } = stage;
  const signatures: string[] = [];
  const signed = (version: Json): Json => {
    for (const url of [uploadUrlOf(version), jsonUploadUrlOf(version)])
      signatures.push(new URL(url).searchParams.get("signature") ?? "none");
    return version;
  };
  const answers: Answer[] = [];

  const first = await stage.write(stateOf(facts), { "json-state": base64('{"j":"secret-json"}') });
  await stage.lock();
  const state = stateOf({ ...facts, serial: 2 });
  const second = signed(await stage.announce(state));
  await put(uploadUrlOf(second), "secret-garbage");
  await put(uploadUrlOf(second), stateOf({ ...facts, serial: 99 }));
  await put(uploadUrlOf(second).replace("signature=", "signature=x"), state);
  const broken = slowPut(uploadUrlOf(second));
  await broken.write(state.slice(0, -10));
  await expect.poll(async () => (await contentsOf(api, second.id)).length).toBe(1);
  broken.breakOff();
  expectSent(await put(uploadUrlOf(second), state));
  expectSent(await put(jsonUploadUrlOf(second), '{"j":"secret-json"}'));
  expectSent(await put(uploadUrlOf(second), state));
  await put(uploadUrlOf(second), stateOf({ ...facts, serial: 98 }));
  const large = stateOfSize(1_200_000, { ...facts, serial: 3 });
  const third = signed(await stage.announce(large));
  expectSent(await put(uploadUrlOf(third), large));
  await parseLargeStates(jobContextOf(api));
  await stage.unlock();

  const outputIds = data(await owner.get(`/state-versions/${third.id}/outputs`)).map(({ id }: Json) => id);
  for (const id of outputIds) expect((await owner.get(`/state-version-outputs/${id}`)).status).toBe(200);
  expect((await fetchState(api, owner, `/state-versions/${third.id}/download`)).text).toBe(large);
  expect((await fetchState(api, owner, `/state-versions/${first.id}/json-download`)).text).toContain("secret-json");
  answers.push(
    await owner.get(`${stage.path}?include=outputs`),
    await owner.get(`${stage.path}/current-state-version?include=outputs`),
    await owner.get(`${stage.path}/current-state-version-outputs`),
  );
  for (const action of ["soft_delete", "restore", "soft_delete", "permanently_delete"])
    expect((await owner.post(`/state-versions/${first.id}/actions/${action}_backing_data`)).status).toBe(204);
  const refused = await stage.send(stateOf({ ...facts, serial: 1 }));
  expect(refused.status).toBe(409);
  answers.push(refused, await owner.get(`/organizations/${stage.org.name}/audit-events?page[size]=100`));

  // Plain outputs can appear in these responses; sensitive ones must not.
  expect(JSON.stringify(answers.map(({ body }) => body))).not.toMatch(/secret-(output|attribute|json|garbage)/);
  expect(JSON.stringify(answers.at(-1)?.body)).not.toContain("secret-");
  expect(JSON.stringify(answers.at(-1)?.body)).not.toContain("signature");
  const log = lines.join("");
  expect(log).toContain("/upload?…");
  expect(log).not.toContain("secret-");
  expect(await dump(api.database)).not.toContain("secret-");
  expect(signatures).toHaveLength(4);
  const register = await dump(api.database);
  for (const signature of signatures) {
    expect(signature.length).toBeGreaterThan(20);
    expect(log).not.toContain(signature);
    expect(register).not.toContain(signature);
  }
});
