/** `cadastre import` from one Cadastre server to another: compared document by document, repeated, and with changes in between. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, type Json, startApi, useApi } from "../support/api.ts";
import { data, details, makeWorkspace, resource } from "../support/builders.ts";
import { fingerprint } from "../support/database-snapshots.ts";
import { stateOf, writeState } from "../support/states.ts";
import { cadastre } from "../cli/support.ts";
import { createFullOrganization, type FullOrganization, comparable } from "./organization.ts";

const source = useApi();
let target: Api;
let organization: FullOrganization;

beforeAll(async () => {
  target = await startApi();
  organization = await createFullOrganization(source);
  // One of the members is already a user of the target.
  const { username, email } = organization.member;
  data(await target.admin.post("/admin/users", resource("users", { username, email })));
});
afterAll(() => target.stop());

const key = Buffer.alloc(32, 7).toString("hex");
const settingsOf = ({ address }: Api) => ({ CADASTRE_DATABASE: address, CADASTRE_ENCRYPTION_KEY: key });

async function runImport(...words: string[]): Promise<{ code: number | null; report: Json; err: string }> {
  const { code, out, err } = await cadastre(
    ["import", "--from", source.url, "--organization", organization.name, "--json", ...words],
    { ...settingsOf(target), CADASTRE_IMPORT_TOKEN: source.admin.token ?? "" },
  );
  const errors = err.split("\n").filter((line) => !line.startsWith("importing: "));
  return { code, err: errors.join("\n"), report: out === "" ? undefined : JSON.parse(out) };
}

async function runReport(...words: string[]): Promise<Json[]> {
  const { code, out, err } = await cadastre(["import", ...words, "--report", "--json"], settingsOf(target));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

const countsOf = (report: Json, column: "brought" | "here" | "left"): Record<string, number> =>
  Object.fromEntries(report.counts.filter((row: Json) => row[column] > 0).map((row: Json) => [row.kind, row[column]]));

describe("cadastre import", () => {
  test("a dry run reports what would be imported, and writes nothing", async () => {
    const before = await fingerprint(target.database, ["meta"]);
    const { report, err, code } = await runImport("--dry-run");
    expect(err).toBe("");
    expect(countsOf(report, "brought")).toMatchObject({ workspaces: 3, "state-versions": 4, runs: 2, vars: 4 });
    expect(report["to-enter"].map(({ thing }: Json) => thing)).toContain("network, CLOUD_SECRET");
    expect(code).toBe(3);
    expect(await fingerprint(target.database, ["meta"])).toBe(before);
  });

  test("imports everything, with the same documents", async () => {
    const { report, code, err } = await runImport();
    expect(err).toBe("");
    expect(report.gaps).toEqual([
      { kind: "runs", thing: expect.stringContaining("shop, run-"), reason: expect.stringContaining("planned") },
    ]);
    expect(code).toBe(3);
    expect(countsOf(report, "brought")).toMatchObject({ workspaces: 3, "state-versions": 4, runs: 2, vars: 4 });
    expect(await comparable(target, target.admin, organization.name)).toEqual(
      await comparable(source, source.admin, organization.name),
    );
  });

  test("lists the secrets that the source does not reveal", async () => {
    const { report } = await runImport("--to-organization", `${organization.name}-2`);
    expect(report["to-enter"]).toEqual([
      { kind: "ssh-keys", thing: "modules", reason: "its value" },
      { kind: "agent-pools", thing: "builders", reason: expect.stringContaining("token") },
      { kind: "vars", thing: "network, CLOUD_SECRET", reason: "its value (env)" },
    ]);
  });

  test("every import and every report lists the missing secrets until they are entered", async () => {
    const name = `${organization.name}-2`;
    const inside = (rest: string) => `/organizations/${name}${rest}`;
    const named = (rows: Json[]) => rows.map(({ kind, thing }) => `${kind}: ${thing}`);
    const missingSecrets = async () => {
      const report = await runReport(name);
      expect((await runReport()).filter((row: Json) => row.organization === name)).toEqual(report);
      return named(report);
    };
    const again = await runImport("--to-organization", name);
    expect(named(again.report["to-enter"])).toEqual(await missingSecrets());
    expect(await missingSecrets()).toEqual([
      "ssh-keys: modules",
      "agent-pools: builders",
      "vars: network, CLOUD_SECRET",
    ]);

    const network = data(await target.admin.get(inside("/workspaces/network")));
    const vars: Json[] = data(await target.admin.get(`/workspaces/${network.id}/vars`));
    const secret = vars.find(({ attributes }) => attributes.key === "CLOUD_SECRET");
    const path = `/workspaces/${network.id}/vars/${secret.id}`;
    data(await target.admin.patch(path, resource("vars", { description: "not its value yet" })));
    expect(await missingSecrets()).toContain("vars: network, CLOUD_SECRET");
    data(await target.admin.patch(path, resource("vars", { value: "entered" })));
    expect(await missingSecrets()).toEqual(["ssh-keys: modules", "agent-pools: builders"]);

    const [pool] = data(await target.admin.get(inside("/agent-pools")));
    data(
      await target.admin.post(
        `/agent-pools/${pool.id}/authentication-tokens`,
        resource("authentication-tokens", { description: "one" }),
      ),
    );
    expect(await missingSecrets()).toEqual(["ssh-keys: modules"]);

    const [key] = data(await target.admin.get(inside("/ssh-keys")));
    const value = "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----";
    data(await target.admin.patch(`/ssh-keys/${key.id}`, resource("ssh-keys", { value })));
    expect(await missingSecrets()).toEqual([]);
    const report = await cadastre(["import", name, "--report"], settingsOf(target));
    expect(report).toMatchObject({ code: 0, out: "No secrets are missing." });
  });

  test("a later dry run lists the missing secrets, and those that the import would leave empty", async () => {
    const { report } = await runImport("--dry-run");
    expect(report["to-enter"].map(({ thing }: Json) => thing)).toEqual([
      "modules",
      "builders",
      "network, CLOUD_SECRET",
    ]);
  });

  test("a second import imports nothing and changes nothing", async () => {
    const before = await fingerprint(target.database, ["meta"]);
    const { report } = await runImport();
    expect(countsOf(report, "brought")).toEqual({});
    expect(await fingerprint(target.database, ["meta"])).toBe(before);
  });

  test("members who are users of the target become active; others are invited", async () => {
    const memberships = data(await target.admin.get(`/organizations/${organization.name}/organization-memberships`));
    const statuses = Object.fromEntries(
      memberships.map(({ attributes }: Json) => [attributes.email, attributes.status]),
    );
    expect(statuses).toMatchObject({ [organization.member.email]: "active", [organization.owner.email]: "invited" });
  });

  test("its audit events have the operator as their actor", async () => {
    const events = data(await target.admin.get(`/organizations/${organization.name}/audit-events?page[size]=100`));
    expect(new Set(events.map(({ attributes }: Json) => attributes["actor-kind"] ?? attributes.actor?.kind))).toEqual(
      new Set(["operator"]),
    );
    expect(events.map(({ attributes }: Json) => attributes.action)).toContain("state-versions.import");
  });

  test("keeps what was changed, deleted or used on the target since, and imports what is new on the source", async () => {
    const pathOf = (name: string) => `/organizations/${organization.name}/workspaces/${name}`;
    const network = data(await target.admin.get(pathOf("network")));
    const shop = data(await target.admin.get(pathOf("shop")));
    await target.admin.patch(pathOf("network"), resource("workspaces", { description: "changed here" }));
    await target.admin.delete(pathOf("plain"));
    const [region] = data(await target.admin.get(`/workspaces/${network.id}/vars`)).filter(
      ({ attributes }: Json) => attributes.key === "region",
    );
    await target.admin.delete(`/workspaces/${network.id}/vars/${region.id}`);
    const lineage = "0b6c2a7e-0000-4000-8000-000000000000";
    await writeState(target.admin, shop.id, stateOf({ serial: 8, lineage }));
    // And on the source:
    await source.admin.post(`/runs/${organization.waiting.id}/actions/discard`);
    await makeWorkspace(source, organization.name, { name: "newcomer" });
    await writeState(source.admin, organization.workspaces.network.id, stateOf({ serial: 4 }));
    await writeState(source.admin, organization.workspaces.shop.id, stateOf({ serial: 8, lineage }));

    const { report } = await runImport();
    expect(countsOf(report, "brought")).toEqual({ workspaces: 1, runs: 1, "state-versions": 1 });
    expect(report.gaps.map(({ kind, thing }: Json) => `${kind}: ${thing}`).toSorted()).toEqual([
      "state-versions: shop, 1 from serial 8 on",
      "vars: network, region",
      "workspaces: plain",
    ]);
    expect(data(await target.admin.get(pathOf("network"))).attributes.description).toBe("changed here");
    expect((await target.admin.get(pathOf("plain"))).status).toBe(404);
    const current = data(await target.admin.get(`/workspaces/${network.id}/current-state-version`));
    expect(current.attributes.serial).toBe(4);
  });

  test("imported workspaces can be locked and written to", async () => {
    const [workspace] = data(
      await target.admin.get(`/organizations/${organization.name}/workspaces?search[name]=newcomer`),
    );
    expect((await writeState(target.admin, workspace.id, stateOf({ serial: 1 }))).attributes.serial).toBe(1);
    const locked = await target.admin.post(`/workspaces/${workspace.id}/actions/lock`);
    expect(locked.status, details(locked).join()).toBe(200);
  });

  test.each([
    [["--from", "nowhere"], "--from must be a URL"],
    [["--concurrency", "0"], "--concurrency must be"],
    [["--token", ""], "needs a token of the other server"],
  ])("exit code 2: %s", async (words, sentence) => {
    const all = { "--from": source.url, "--organization": "acme", "--token": "some-token", [words[0]!]: words[1]! };
    const { code, err } = await cadastre(["import", ...Object.entries(all).flat()], {
      CADASTRE_DATABASE: target.address,
    });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(sentence) });
  });

  test("exit code 1: an unknown organization, or a rejected token", async () => {
    const missing = await runImport("--organization", "nobody-has-this");
    expect(missing).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no organization 'nobody-has-this'"),
    });
    const refused = await runImport("--token", "not-a-token");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("rejected the token") });
  });
});
