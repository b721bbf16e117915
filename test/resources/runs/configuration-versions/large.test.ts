/** Archives at and beyond the maximum size. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { archive, header } from "../../../support/archives.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { createConfiguration, configurationUrlOf, mainTf } from "../../../support/configurations.ts";
import { put, slowPut } from "../../../support/states.ts";
import { contentsOf, expectRefused, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);
const send = (version: Json, bytes: Uint8Array) => put(configurationUrlOf(version), bytes);

describe("uploadConfiguration: an archive that is too large", () => {
  it("413: more than 100 MiB", async () => {
    const version = await stage.createVersion();
    const sending = slowPut(configurationUrlOf(version));
    // Not compressed, so that exactly this many bytes are sent.
    const content = randomBytes(1024 * 1024);
    await sending.write(gzipSync(header({ ...mainTf, size: 200 * 1024 * 1024 })));
    const piece = gzipSync(content, { level: 0 });
    for (let mebibytes = 0; mebibytes <= 100; mebibytes += 1) await sending.write(piece);
    const answer = await sending.end();
    expect(answer.status).toBe(413);
    expect(answer.body.errors[0].detail).toMatch(/larger than the limit of 104857600 bytes/);
    expect((await stage.show(version.id)).attributes).toMatchObject({ status: "errored", error: "too_large" });
    // The stored part is orphaned, and the job removes it.
    expect(await contentsOf(api, version.id)).toEqual([]);
  });

  it("422: a decompression bomb", async () => {
    const version = await stage.createVersion();
    const zeros = gzipSync(Buffer.alloc(8 * 1024 * 1024), { level: 9 });
    const bomb = Buffer.concat([
      gzipSync(header({ ...mainTf, size: 2 ** 33 })),
      ...Array.from({ length: 70 }, () => zeros),
    ]);
    expectRefused(await send(version, bomb), 422, /The unpacked archive is larger than the limit of 536870912 bytes/);
    expect((await stage.show(version.id)).attributes.error).toBe("too_large_unpacked");
  });
});

describe("readmes", () => {
  it("included with a list of workspaces, up to 8 MiB in total", async () => {
    const large = randomBytes(512 * 1024).toString("hex");
    for (let count = 0; count < 10; count += 1) {
      const workspace = await makeWorkspace(api, stage.org.name, { name: `large-readme-${count}` });
      const version = data(await createConfiguration(stage.owner, workspace.id));
      await send(version, archive([{ name: "README.md", content: large }]));
    }
    const path = `/organizations/${stage.org.name}/workspaces?include=readme&search[name]=large-readme`;
    const { body } = await stage.owner.get(path);
    expect(body.data).toHaveLength(10);
    expect(body.data.every((each: Json) => each.relationships.readme.data !== null)).toBe(true);
    expect(body.included).toHaveLength(8);
  });
});
