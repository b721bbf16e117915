/** When the state of an apply is uploaded while the engine still writes it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { StateUploader } from "../../src/agent/state.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cadastre-state-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (serial: number) =>
  writeFileSync(join(root, "terraform.tfstate"), JSON.stringify({ version: 4, serial, lineage: "l" }));

function keeping(rhythm: number) {
  const serials: number[] = [];
  const kept: string[] = [];
  const client = {
    writeState: async ({ serial }: { readonly serial: number }) => void serials.push(serial),
    putContent: async (_kind: string, bytes: Uint8Array | Blob) => void kept.push(await (bytes as Blob).text()),
  };
  const [file, copy] = [join(root, "terraform.tfstate"), join(root, "copy")];
  const keeper = new StateUploader({ root, file, copy, md5: undefined, client, intervalMs: rhythm });
  return { keeper, serials, kept };
}

it("uploads the first change immediately, however long the interval", async () => {
  const { keeper, serials } = keeping(3_600_000);
  keeper.start();
  await sleep(50);
  write(1);
  await expect.poll(() => serials).toEqual([1]);
  write(2);
  await keeper.end();
  expect(serials).toEqual([1, 2]);
});

it("uploads later changes once per interval, and an unchanged state never", async () => {
  const { keeper, serials } = keeping(400);
  keeper.start();
  write(1);
  await expect.poll(() => serials).toEqual([1]);
  write(2);
  write(3);
  await expect.poll(() => serials).toEqual([1, 3]);
  await keeper.end();
  expect(serials).toEqual([1, 3]);
});

it.each([
  ["is incomplete", '{"version": 4, "serial": 7, "lineage": "l", "resources": ['],
  ["has no serial", '{"version": 4, "lineage": "l"}'],
  ["is nested too deeply", `{"serial": 7, "lineage": "l", "x": ${"[".repeat(600)}${"]".repeat(600)}}`],
])("saves a state that %s at the end as the errored state, and says where", async (_, text) => {
  const { keeper, serials, kept } = keeping(60_000);
  keeper.start();
  writeFileSync(join(root, "terraform.tfstate"), text);
  expect(await keeper.end()).toContain("It was saved as the errored state of this apply");
  expect({ serials, kept }).toEqual({ serials: [], kept: [text] });
});

it("uploads a large state, whatever the order of its members", async () => {
  const { keeper, serials } = keeping(60_000);
  const text = `{"padding": [${"{},".repeat(1_000_000)}{}], "lineage": "l", "nested": {"serial": 1}, "serial": 9}`;
  writeFileSync(join(root, "terraform.tfstate"), text);
  expect(await keeper.end()).toBeUndefined();
  expect(serials).toEqual([9]);
});
