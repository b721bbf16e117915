/**
 * The agent, the server, and the server with its own workers, killed in every phase of a run: each run gets the right status, nothing is
 * applied twice, no lock stays, and no process is left.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { dropRegistersAfterwards, newRegister } from "../cli/support.ts";
import type { Engine } from "../support/database.ts";
import { deep, isDeep, seed } from "../support/depth.ts";
import { addFakeEngine } from "../support/engines.ts";
import { data } from "../support/builders.ts";
import { isRunning, Site, type SiteOptions } from "../support/site.ts";
import { scaled, until } from "../support/waiting.ts";
import { openFolder } from "./support/agent.ts";

dropRegistersAfterwards();
const engines = openFolder();
addFakeEngine(engines);
const folders = [engines];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

async function openSite(engine: Engine, options: Pick<SiteOptions, "slots" | "executes">): Promise<[Site, string]> {
  const folder = openFolder();
  folders.push(folder);
  return [await Site.open({ register: await newRegister(engine), folder, engines, ...options }), folder];
}

/** Where a run of the fake engine pauses until it gets a signal; each occupies a slot. */
const points = ["init of plan", "plan", "show", "init of apply", "apply", "end of apply"] as const;
type Name = (typeof points)[number] | "planned" | "pending" | "plan queued" | "apply queued";

interface Scene {
  readonly runs: ReadonlyMap<Name, string>;
  readonly workspaces: ReadonlyMap<Name, string>;
  readonly ledger: string;
  readonly goOn: () => void;
}

/** One run in every phase, all at the same moment. */
async function setScene(site: Site, folder: string): Promise<Scene> {
  const holds = join(folder, "holds");
  mkdirSync(holds);
  const fileOf = (name: string) => join(holds, name.replaceAll(" ", "-"));
  const ledger = join(folder, "ledger");
  const runs = new Map<Name, string>();
  const workspaces = new Map<Name, string>();
  const files = (hold: object) => ({
    "stand-in.json": JSON.stringify({ resources: { one: "1", two: "2" }, hold, ledger, elsewhere: true }),
  });
  const begin = async (name: Name, hold: object = {}, attributes: object = {}) => {
    const workspaceId = await site.workspace(name.replaceAll(" ", "-"), attributes);
    workspaces.set(name, workspaceId);
    runs.set(name, await site.run(workspaceId, await site.configuration(workspaceId, files(hold)), attributes));
  };
  for (const name of ["planned", "apply queued"] as const) {
    await begin(name, {}, { "auto-apply": false });
    await site.waitFor(runs.get(name)!, "planned");
  }
  for (const point of points) await begin(point, { [point]: fileOf(point) });
  for (const point of points) await until(async () => existsSync(`${fileOf(point)}.here`), `it reaches ${point}`);
  // Every slot is busy now.
  await begin("plan queued");
  data(await site.admin.post(`/runs/${runs.get("apply queued")}/actions/apply`));
  const behind = workspaces.get("apply")!;
  workspaces.set("pending", behind);
  runs.set("pending", await site.run(behind, await site.configuration(behind, files({}))));
  // The server has the state with the first resource, and adopts it when the run is lost.
  await until(async () => (await site.statesOf(behind)).length > 0, "the first change of a state is stored");
  const goOn = () => points.forEach((point) => writeFileSync(fileOf(point), ""));
  return { runs, workspaces, ledger, goOn };
}

const expectedScene = {
  "init of plan": "planning",
  plan: "planning",
  show: "planning",
  "init of apply": "applying",
  apply: "applying",
  "end of apply": "applying",
  planned: "planned",
  pending: "pending",
  "plan queued": "plan_queued",
  "apply queued": "apply_queued",
};

async function statusesOf(site: Site, { runs }: Scene): Promise<Record<string, string>> {
  return Object.fromEntries(
    await Promise.all([...runs].map(async ([name, id]) => [name, await site.statusOf(id)] as const)),
  );
}

const isOver = (status: string) => ["applied", "errored", "canceled", "planned_and_finished"].includes(status);

/** Waits until all have ended; confirms the one that needs confirmation first. */
async function letEnd(site: Site, scene: Scene): Promise<Record<string, string>> {
  data(await site.admin.post(`/runs/${scene.runs.get("planned")}/actions/apply`));
  return until(async () => {
    const statuses = await statusesOf(site, scene);
    return Object.values(statuses).every(isOver) && statuses;
  }, "every run ends");
}

/** Holds whatever was killed. */
async function checkTruth(site: Site, scene: Scene, ended: Readonly<Record<string, string>>): Promise<void> {
  const entries = readFileSync(scene.ledger, "utf8").trim().split("\n");
  // Their engines may have ended without being able to report it.
  const late = givenUp(site, scene);
  for (const [name, runId] of scene.runs) {
    const begun = entries.filter((entry) => entry === `${runId} begins`).length;
    const done = entries.filter((entry) => entry === `${runId} ends`).length;
    if (ended[name] === "applied") expect([begun, done], name).toEqual([1, 1]);
    else expect([begun <= 1, done <= Number(late.includes(name))], name).toEqual([true, true]);
    expect(isRunning(runId), `something of ${name} runs`).toBe(false);
  }
  for (const [name, workspaceId] of scene.workspaces) {
    expect(await site.isLocked(workspaceId), `the lock of ${name}`).toBe(false);
    const states = await site.statesOf(workspaceId);
    const serials = states.map(({ state }) => state.serial as number);
    expect(new Set(serials).size, `states of ${name}: ${serials.join(", ")}`).toBe(serials.length);
    if (ended[name] !== "applied") continue;
    expect(
      states
        .at(-1)
        ?.state.resources.map(({ name: each }: { name: string }) => each)
        .toSorted(),
    ).toEqual(["one", "two"]);
  }
}

/** Runs whose agent reports that it could not reach the server; the next run finds their work half done. */
function givenUp({ output }: Site, { runs }: Scene): string[] {
  const names = [...runs].filter(([, id]) => new RegExp(`job abandoned run=${id} .*for too long`).test(output));
  return names.flatMap(([name]) => (name === "apply" ? [name, "pending"] : [name]));
}

const lost = {
  "init of plan": "applied",
  plan: "errored",
  show: "errored",
  "init of apply": "errored",
  apply: "errored",
  "end of apply": "errored",
};
const goneOn = Object.fromEntries(points.map((point) => [point, "applied"]));
const others = { planned: "applied", pending: "applied", "plan queued": "applied", "apply queued": "applied" };

interface Victim {
  readonly title: string;
  readonly executes: SiteOptions["executes"];
  readonly kill: (site: Site, scene: Scene) => Promise<void>;
  readonly ends: Readonly<Record<string, string>>;
}

const victims: Record<"agent" | "agents" | "server" | "both", Victim> = {
  agent: {
    title: "an agent",
    executes: "agent",
    kill: async (site, { runs, goOn }) => {
      await site.killAgent();
      // Its engines are killed shortly after it; until then they could still handle the signal.
      await until(async () => ![...runs.values()].some(isRunning), "its engines end");
      goOn();
      site.startAgent();
    },
    ends: { ...lost, ...others },
  },
  agents: {
    title: "all agents of a single job",
    executes: "scheduler",
    kill: async (site, { runs, goOn }) => {
      await site.killAgent();
      await until(async () => ![...runs.values()].some(isRunning), "their engines end");
      goOn();
      site.startAgent();
    },
    ends: { ...lost, ...others },
  },
  server: {
    title: "a server, whose agent lives",
    executes: "agent",
    kill: async (site, { goOn }) => {
      await site.killServer();
      // Engines continue meanwhile, and end while the server can't be reached.
      goOn();
      await pause(1000);
      await site.startServer();
    },
    // The run that waited has nothing left to do.
    ends: { ...goneOn, ...others, pending: "planned_and_finished" },
  },
  both: {
    title: "a server with workers of its own",
    executes: "workers",
    kill: async (site, { runs, goOn }) => {
      await site.killServer();
      await until(async () => ![...runs.values()].some(isRunning), "its workers and their engines end");
      goOn();
      await site.startServer();
    },
    ends: { ...lost, ...others },
  },
};

const tried: readonly (Victim & { readonly engine: Engine })[] = isDeep
  ? (["sqlite", "postgres"] as const).flatMap((engine) =>
      Object.values(victims).map((victim) => ({ ...victim, engine })),
    )
  : [
      { ...victims.agent, engine: "sqlite" },
      { ...victims.agents, engine: "postgres" },
      { ...victims.server, engine: "postgres" },
    ];

describe("killed with a run in each phase", () => {
  test.each(tried)("$title, on $engine", { timeout: scaled(400_000) }, async ({ engine, executes, kill, ends }) => {
    const [site, folder] = await openSite(engine, { slots: points.length, executes });
    try {
      const scene = await setScene(site, folder);
      expect(await statusesOf(site, scene)).toEqual(expectedScene);
      await kill(site, scene);
      const ended = await letEnd(site, scene);
      const [seen, expected] = [{ ...ended }, { ...ends }];
      // On a machine on which a server takes half a minute to start, its agent has given up and logged that.
      for (const name of givenUp(site, scene)) {
        delete seen[name];
        delete expected[name];
      }
      expect(seen, site.output).toEqual(expected);
      await checkTruth(site, scene, ended);
      // The complete state of an apply that was lost at its end is kept on the agent's machine.
      if (ended["end of apply"] === "errored" && executes !== "scheduler")
        expect(readdirSync(join(folder, "agent", "lost")).join(" ")).toContain(scene.runs.get("end of apply"));
    } finally {
      await site.close();
    }
  });
});

/** Reproducible by its seed. */
function* randomNumbers(from: number): Generator<number, never> {
  for (let state = from >>> 0; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

describe.runIf(isDeep)("killed at random moments while runs are executed", () => {
  const rounds = deep(1, 6);
  test.each<Engine>(["sqlite", "postgres"])("on %s", { timeout: scaled(900_000) }, async (engine) => {
    const random = randomNumbers(seed + engine.length);
    const [site, folder] = await openSite(engine, { slots: 4, executes: "agent" });
    const ledger = join(folder, "ledger");
    const acknowledged: { readonly id: string; readonly workspaceId: string; readonly step: string }[] = [];
    try {
      const workspaces = await Promise.all([1, 2, 3, 4].map((number) => site.workspace(`w-${number}`)));
      for (let round = 0; round < rounds; round += 1) {
        for (const workspaceId of workspaces)
          for (let each = 0; each < 3; each += 1) {
            const step = `${round}.${each}`;
            const settings = { resources: { step }, ledger, planMs: 100, slowMs: 100 };
            const files = { "stand-in.json": JSON.stringify(settings) };
            const id = await site.run(workspaceId, await site.configuration(workspaceId, files));
            acknowledged.push({ id, workspaceId, step });
          }
        await pause(random.next().value * 6000);
        if (random.next().value < 0.5) {
          await site.killAgent();
          site.startAgent();
        } else {
          await site.killServer();
          await pause(random.next().value * 3000);
          await site.startServer();
        }
      }
      const ended = new Map<string, string>();
      for (const { id } of acknowledged) ended.set(id, await site.waitFor(id, "applied", "errored"));
      const entries = readFileSync(ledger, "utf8").trim().split("\n");
      for (const workspaceId of workspaces) {
        const states = await site.statesOf(workspaceId);
        const own = acknowledged.filter((run) => run.workspaceId === workspaceId);
        for (const { id, step } of own) {
          const stored = states.filter(({ runId }) => runId === id);
          expect(entries.filter((entry) => entry === `${id} begins`).length, `seed ${seed}`).toBeLessThanOrEqual(1);
          if (ended.get(id) === "applied") {
            expect(stored.map(({ state }) => state.resources[0].instances[0].attributes.input)).toEqual([step]);
            expect(entries.filter((entry) => entry === `${id} ends`).length).toBe(1);
          } else expect(stored.length).toBeLessThanOrEqual(1);
          expect(isRunning(id)).toBe(false);
        }
        // In the order in which they were created.
        const begun = entries.filter((entry) => own.some(({ id }) => entry === `${id} begins`));
        const order = own.map(({ id }) => `${id} begins`).filter((entry) => begun.includes(entry));
        expect(begun).toEqual(order);
        expect(await site.isLocked(workspaceId)).toBe(false);
      }
    } finally {
      await site.close();
    }
  });
});
