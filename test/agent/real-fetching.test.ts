/** Real engines, fetched from a mirror that signs with the tests' own key, then run in each sandbox (`npm run test:real`). */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findEngines, programOf } from "../../src/agent/engines.ts";
import { products } from "../../src/agent/products.ts";
import { findTools, isRoot } from "../../src/sandbox/choose.ts";
import { EngineMirror, mirrorCa } from "../support/engine-mirror.ts";
import { finished, openFolder, startTestAgent } from "./support/agent.ts";

const built = process.env["CADASTRE_TEST_ENGINE_FOLDER"] ?? "";
const found = built === "" ? { terraform: [], tofu: [] } : await findEngines(built);
const engines = products.flatMap((product) => found[product].slice(-1).map((version) => ({ product, version })));
const sandboxes = [
  ...(findTools().bwrap === undefined ? [] : (["bubblewrap"] as const)),
  ...(isRoot() && findTools().setpriv !== undefined ? (["user"] as const) : []),
];
const folder = openFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

if (built === "") it.skip("real engines: set CADASTRE_TEST_ENGINE_FOLDER", () => undefined);

/** A configuration is a program: it tries to write what the jobs share. */
const main = `
  resource "terraform_data" "one" {
    input = "fetched"
    provisioner "local-exec" {
      command = "for path in /engine FOLDER; do touch $path/x $path/.cache/x $path/terraform/x $path/tofu/x $path/.cache/room.lock; done; ls FOLDER/.cache; true"
    }
  }
`;

describe.runIf(built !== "").each(sandboxes.flatMap((sandbox) => engines.map((engine) => ({ sandbox, ...engine }))))(
  "$product $version, fetched, in the sandbox $sandbox",
  ({ sandbox, product, version }) => {
    it("plans and applies; the job can't write the engines' directory or read its locks", async () => {
      const mirror = await EngineMirror.start();
      await mirror.publish(
        { product, version },
        {
          parts: [{ name: product, content: readFileSync(programOf(built, product, version)) }],
        },
      );
      const own = join(folder, `${sandbox}-${product}`);
      const agent = await startTestAgent({
        engines: own,
        sandbox,
        ca: mirrorCa,
        engineMirror: mirror.url,
        engineKeys: mirror.writeKeys(join(folder, "keys.asc")),
      });
      try {
        const files = { "main.tf": main.replaceAll("FOLDER", own) };
        const attributes = { engine: product, "engine-version": version, structured: false };
        const plan = agent.server.add({ files, attributes });
        expect(await finished(plan), plan.log).toMatchObject({ result: "finished" });
        expect(plan.log).toContain(`from ${mirror.url}/${product}/${version}/`);
        expect(plan.log).toContain(`signed with the key ${mirror.key.fingerprint}.`);
        const apply = agent.server.add({ files, phase: "apply", runId: plan.runId, plan, attributes });
        expect(await finished(apply), apply.log).toMatchObject({ result: "finished" });
        expect(apply.log).toContain("1 added");
        expect(apply.log).not.toContain("room.lock\n");
        const names = readdirSync(own, { recursive: true, encoding: "utf8" }).toSorted();
        expect(names.filter((name) => name.endsWith("/x") || name === "x")).toEqual([]);
        expect(statSync(programOf(own, product, version)).mode & 0o022).toBe(0);
        expect(mirror.requests.filter((path) => path.endsWith(".zip"))).toHaveLength(1);
      } finally {
        await agent.close();
        await mirror.close();
      }
    });
  },
);
