/** A sensitive value is write-only: it is in no response, event or log, and in no table as plain text. */
import pino from "pino";
import { describe, expect, it } from "vitest";
import { createVault } from "../../../../src/database/vault.ts";
import { type Answer, useApi } from "../../../support/api.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { dump } from "../../../support/database-snapshots.ts";
import { parentTypes, useStage } from "./support.ts";

const lines: string[] = [];
const api = useApi({ logger: pino({ level: "trace" }, { write: (line) => lines.push(line) }) });
const vault = createVault(Buffer.alloc(32, 7));

describe.each(parentTypes)("of %s", (type) => {
  const stage = useStage(api, type);

  describe("a sensitive value", () => {
    it("is in no response, whatever is done to the variable", async () => {
      const at = (id: string) => `${stage.path}/${id}`;
      const { owner } = stage.org;
      const body = (attributes: object) => ({ data: { type: "vars", attributes } });
      const workspace = type === "workspaces" ? stage.parent : await makeWorkspace(api, stage.org.name);
      if (type === "varsets")
        await owner.post(`${stage.parentPath}/relationships/workspaces`, {
          data: [{ type: "workspaces", id: workspace.id }],
        });
      const created = await stage.create({ value: "secret-one", sensitive: true });
      const { id } = data(created);
      const answers: Answer[] = [
        created,
        await owner.get(at(id)),
        await owner.get(`${stage.path}?page[size]=100`),
        await owner.get(`/workspaces/${workspace.id}/all-vars`),
        await owner.patch(at(id), body({ value: "secret-two" })),
        await owner.patch(at(id), body({ value: "secret-two", description: "changed", hcl: true })),
        await owner.patch(at(id), body({})),
        await owner.patch(at(id), body({ sensitive: false, value: "secret-three" })),
        await owner.patch(at(id), body({ value: "secret-four", key: 5 })),
        await stage.create({ key: stage.variable.attributes.key, value: "secret-five", sensitive: true }),
        await owner.get(`${stage.parentPath}?include=${type === "varsets" ? "vars" : ""}`),
        await owner.delete(at(id)),
        await owner.get(`/organizations/${stage.org.name}/audit-events?page[size]=100`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([
        201, 200, 200, 200, 200, 200, 200, 422, 422, 422, 200, 204, 200,
      ]);
      expect(JSON.stringify(answers.map((answer) => answer.body))).not.toContain("secret-");
      for (const index of [0, 1, 4, 5, 6]) expect(data(answers[index] as Answer).attributes.value).toBeNull();
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.join("")).not.toContain("secret-");
      expect(await dump(api.database)).not.toContain("secret-");
    });

    it("that was not sensitive before is in no event either", async () => {
      const created = data(await stage.create({ value: "later-secret" }));
      const body = { data: { type: "vars", attributes: { sensitive: true } } };
      data(await stage.org.owner.patch(`${stage.path}/${created.id}`, body));
      expect(await dump(api.database)).not.toContain("later-secret");
    });

    it("is recorded as replaced in the audit log", async () => {
      await stage.update({ sensitive: true });
      await stage.update({ value: "secret-six" });
      const events = await stage.events();
      expect(events.map(({ attributes }) => attributes.after["replaced-secrets"])).toEqual([
        undefined,
        undefined,
        ["value"],
      ]);
    });
  });

  describe("every value", () => {
    it("is encrypted for its row, sensitive or not", async () => {
      const twin = data(await stage.create());
      const [mine, other] = [await stage.row(), await stage.row(twin.id)];
      expect(Buffer.from(mine?.value ?? []).toString("latin1")).not.toContain("a value");
      expect(Buffer.compare(Buffer.from(mine?.value ?? []), Buffer.from(other?.value ?? []))).not.toBe(0);
      expect(await stage.stored()).toBe("a value");
      expect(() => vault.open(`vars/${twin.id}/value`, mine?.value ?? Buffer.alloc(0))).toThrow();
    });
  });
});
