/** Scheduled backups: one for all servers, verified, and only the configured number is kept. */
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyBackup } from "../../src/backup/restore.ts";
import { type LastBackup, lastBackup, recordBackup } from "../../src/backup/schedule.ts";
import { createVault } from "../../src/database/vault.ts";
import { backupJob, backupJobs } from "../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../src/jobs/runner.ts";
import { operatorContext } from "../../src/service.ts";
import { addFirstAdmin, type Api, startApiOn } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace, resource } from "../support/builders.ts";
import { newDatabase } from "../support/database.ts";
import { newFolder } from "../support/folder.ts";
import { hourMs } from "./support.ts";

const vault = createVault(Buffer.alloc(32, 7));
const folder = newFolder("cadastre-backups-");
const directory = join(folder, "backups");
const schedule = { directory, everyHours: 2, keep: 3 };
let api: Api;
beforeAll(async () => {
  const register = await newDatabase();
  await addFirstAdmin(register.database);
  api = await startApiOn(register);
  const { name, owner } = await makeOrganization(api);
  const { id } = await makeWorkspace(api, name);
  data(await owner.post(`/workspaces/${id}/vars`, resource("vars", { key: "a", category: "env", value: "b" })));
});
afterAll(async () => {
  await api.stop();
  rmSync(folder, { recursive: true, force: true });
});

function runner(own = vault): BackgroundJobRunner {
  const { options } = operatorContext(api.database, { organizationCreation: "site-admins" }, "test");
  return new BackgroundJobRunner({ database: api.audited, vault: own, options, jobs: [backupJob(schedule, "1.2.3")] });
}

const last = () => lastBackup(api.database.reader);
const age = async (hours: number) => {
  const before = (await last()) as LastBackup;
  const at = new Date(Date.now() - hours * hourMs).toISOString();
  await api.database.write((tx) => recordBackup(tx, { ...before, at }));
};

async function metrics(): Promise<string> {
  const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
  return answer.text();
}

describe("backups on a schedule", () => {
  it("need an existing directory, so that nothing is written below an unmounted path", async () => {
    await expect(runner().runNow("backup")).rejects.toThrow(/^The backup directory .* doesn't exist\. Create it/);
    expect(await metrics()).not.toMatch(/^cadastre_backup_last_success_timestamp_seconds/m);
    mkdirSync(directory);
  });

  it("are written once for all servers, can be restored, and appear in the metrics", async () => {
    const [one, other] = [runner(), runner()];
    const made = await Promise.allSettled([one.runNow("backup"), other.runNow("backup")]);
    expect(made.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(await runner().runNow("backup")).toEqual({ handled: 0 });
    const files = readdirSync(directory);
    expect(files).toEqual([expect.stringMatching(/^cadastre-\d{8}T\d{6}Z\.backup$/)]);
    const file = join(directory, files[0] ?? "");
    expect(await last()).toMatchObject({ file, bytes: expect.any(Number) });
    const verified = await verifyBackup(file, () => {}, vault);
    expect(verified).toMatchObject({ header: { cadastre: "1.2.3" }, keyIds: [vault.keyId], secrets: 1 });
    expect(await metrics()).toMatch(/^cadastre_backup_last_success_timestamp_seconds 1\d+/m);
    expect(await metrics()).toMatch(/^cadastre_backup_last_size_bytes \d+/m);
  });

  it("are written again when the last one is old enough; the oldest are deleted, other files stay", async () => {
    const strangers = ["cadastre.backup", "notes.txt", "cadastre-20200101T000000Z.backup.0123abcd.partial"];
    for (const name of [...strangers, ...[1, 2, 3].map((day) => `cadastre-2020010${day}T000000Z.backup`)])
      writeFileSync(join(directory, name), "");
    await age(1.9);
    expect(await runner().runNow("backup")).toEqual({ handled: 0 });
    await age(2);
    // Left by a process that was killed some time ago.
    const longAgo = new Date(Date.now() - 2 * hourMs);
    utimesSync(join(directory, strangers[2] ?? ""), longAgo, longAgo);
    expect(await runner().runNow("backup")).toEqual({ handled: 1 });
    const left = readdirSync(directory);
    expect(left).toEqual(expect.arrayContaining(strangers.slice(0, 2)));
    expect(left).not.toContain(strangers[2]);
    const kept = left.filter((name) => /^cadastre-.*Z\.backup$/.test(name)).toSorted();
    // Two backups within a second have the same name.
    expect(kept.length).toBe(3);
    expect(kept).not.toContain("cadastre-20200101T000000Z.backup");
  });

  it("that can't be verified do not count, and are deleted", async () => {
    await age(3);
    const [before, files] = [await last(), readdirSync(directory)];
    const stranger = createVault(Buffer.alloc(32, 9));
    await expect(runner(stranger).runNow("backup")).rejects.toThrow(
      /is complete, but vars\.value of .* can't be decrypted/,
    );
    expect(await last()).toEqual(before);
    expect(readdirSync(directory).length).toBeLessThanOrEqual(files.length);
  });

  it("are off without a directory", () => {
    expect(backupJobs({ backupDirectory: undefined, backupEveryHours: 1, backupKeep: 1 }, "1.2.3")).toEqual([]);
  });
});
