/** Large states take turns: a huge one keeps nobody waiting until it was read. */
import { describe, expect, it } from "vitest";
import { readLargeStates } from "../../../../src/resources/state/state-versions/upkeep/upkeep.ts";
import { useApi } from "../../../support/api.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { managed, stateOf, upkeepOf, writeState } from "../../../support/states.ts";
import { useStage, versionRow } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const filler = "x".repeat(1_100_000);
const small = (serial: number) => stateOf({ serial, resources: [managed("few", 3), managed("filler", 1, { filler })] });
const huge = (serial: number) => stateOf({ serial, resources: [managed("many", 15_000, { filler: "x".repeat(100) })] });

const isRead = async (id: string) => (await versionRow(api, id)).resourcesProcessed === 1;

/** Reads what waits. Gives the versions in the order in which they were read; `meanwhile` happens between two steps. */
async function readInOrder(
  ids: () => readonly string[],
  meanwhile?: (step: number) => Promise<void>,
): Promise<string[]> {
  const order: string[] = [];
  const work = upkeepOf(api);
  let steps = 0;
  await readLargeStates({
    ...work,
    step: async (inner) => {
      const done = await work.step(inner);
      for (const id of ids()) if (!order.includes(id) && (await isRead(id))) order.push(id);
      await meanwhile?.(++steps);
      return done;
    },
  });
  return order;
}

describe("a huge state", () => {
  it("lets smaller ones pass that came after it, also while it is read", async () => {
    const other = await makeWorkspace(api, stage.org.name);
    const third = await makeWorkspace(api, stage.org.name);
    const first = await stage.write(huge(1));
    const later = await writeState(stage.owner, other.id, small(1));
    const ids = [first.id, later.id];
    const order = await readInOrder(
      () => ids,
      async (step) => {
        if (step === 12) ids.push((await writeState(stage.owner, third.id, small(1))).id);
      },
    );
    expect(order).toEqual([later.id, ids[2], first.id]);
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(15_000);
    expect(data(await stage.owner.get(`/workspaces/${third.id}`)).attributes["resource-count"]).toBe(4);
  });

  it("does not let those of its own workspace pass: they are compared with it", async () => {
    const first = await stage.write(huge(1));
    const next = await stage.write(small(2));
    expect(await readInOrder(() => [first.id, next.id])).toEqual([first.id, next.id]);
  });

  it("waits for none that fails more than once", async () => {
    const other = await makeWorkspace(api, stage.org.name);
    const first = await stage.write(huge(1));
    const lost = await writeState(stage.owner, other.id, small(1));
    await api.database.write((tx) =>
      tx.db.updateTable("contents").set({ stateVersionId: null }).where("stateVersionId", "=", lost.id).execute(),
    );
    await expect(readInOrder(() => [first.id])).rejects.toThrow(`the state version ${lost.id} has no content`);
    expect(await isRead(first.id)).toBe(true);
    expect(await isRead(lost.id)).toBe(false);
  });
});
