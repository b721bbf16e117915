/** The load of a proof: about seventy requests a second, half of them writes. */
import { resource, onWorkspace } from "../test/support/builders.ts";
import {
  act,
  type Actor,
  membershipSwitcher,
  leaseholder,
  locker,
  valueReader,
  valueWriter,
  workspaceCreator,
  SharedWorkspace,
  stateWriter,
  uploader,
  workspaceReader,
} from "./actors.ts";
import { WorkloadClient } from "./workload-client.ts";
import { workloads } from "./workloads.ts";
import { Executor, planner } from "./runs.ts";
import type { Stage } from "./stage.ts";
import type { Person, World } from "./world.ts";

/** An actor, and its pause between two steps. */
type PacedActor = readonly [Actor, number];

export class Load {
  readonly #rhythms: readonly PacedActor[];
  readonly #lasting: readonly Actor[];
  #isOver = false;
  #underway: Promise<unknown>[] = [];

  private constructor(rhythms: readonly PacedActor[], lasting: readonly Actor[]) {
    this.#rhythms = rhythms;
    this.#lasting = lasting;
  }

  /** `slowness` multiplies all pauses. */
  static async prepare(stage: Stage, world: World, slowness = 1): Promise<Load> {
    const owners = await world.ownersTeam();
    const people: Person[] = [];
    for (let count = 0; count < 3; count += 1) people.push(await world.person([owners]));
    const rhythms: PacedActor[] = [
      ...(await contenders(stage, world, people)),
      ...(await readers(stage, world)),
      ...people.slice(0, 2).map((person): PacedActor => [workspaceCreator(stage, world, person), 500]),
      [await stateWriter(stage, world, people[0] as Person), 700],
      [await uploader(stage, world, people[1] as Person), 1_200],
      ...(await workloadActors(stage, world, slowness)),
      [await planner(stage, world), 1_500],
    ];
    const agents = await world.agentsToken();
    const executors = ["agent-1", "agent-2"].map(
      (name) => new Executor(stage, agents, `${name}-${world.organization}`),
    );
    const slowed = rhythms.map(([actor, pauseMs]): PacedActor => [actor, pauseMs * slowness]);
    return new Load([...slowed, ...executors.map((actor): PacedActor => [actor, 300 * slowness])], executors);
  }

  begin(): void {
    this.#underway = this.#rhythms
      .filter(([actor]) => !this.#lasting.includes(actor))
      .map(([actor, pauseMs]) => act(actor, pauseMs, () => this.#isOver));
    this.#executing = this.#rhythms
      .filter(([actor]) => this.#lasting.includes(actor))
      .map(([actor, pauseMs]) => act(actor, pauseMs, () => this.#isWholeOver));
  }

  #executing: Promise<unknown>[] = [];
  #isWholeOver = false;

  /** Stops everything except the agents, because runs still wait for them. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#underway);
  }

  async endAgents(): Promise<void> {
    this.#isWholeOver = true;
    await Promise.all(this.#executing);
  }
}

/** Three actors contend for a lock, three for a value, two for a lease. */
async function contenders(stage: Stage, world: World, people: readonly Person[]): Promise<PacedActor[]> {
  const [locked, valued] = [
    await SharedWorkspace.of(() => world.workspace()),
    await SharedWorkspace.of(() => world.workspace()),
  ];
  const leased = await world.workspace();
  return [
    ...people.map((person): PacedActor => [locker(stage, person, locked), 250]),
    ...people.map((person): PacedActor => [valueWriter(stage, world, person, valued), 250]),
    ...people.slice(0, 2).map((person): PacedActor => [valueReader(stage, world, person, valued), 60]),
    ...people.slice(0, 2).map((person): PacedActor => [leaseholder(stage, person, leased), 900]),
  ];
}

/** One client per workload. They pause between two changes, not between two passes. */
async function workloadActors(stage: Stage, world: World, slowness: number): Promise<PacedActor[]> {
  const fixtures = await world.makeFixtures();
  return Object.entries(workloads).map(([trade, workload]): PacedActor => {
    const client = new WorkloadClient(stage, world, fixtures, trade, 900 * slowness);
    return [{ name: trade, step: () => client.runPass(workload) }, 0];
  });
}

/** A user whose only access to a workspace is a team, and an admin who changes the team's members. */
async function readers(stage: Stage, world: World): Promise<PacedActor[]> {
  const [teamId, workspaceId] = [await world.team("readers"), await world.workspace()];
  await world.post(
    "/team-workspaces",
    resource("team-workspaces", { access: "read" }, onWorkspace(workspaceId, teamId)),
  );
  const reader = await world.person([]);
  return [
    [membershipSwitcher(stage, world, reader, { id: teamId }), 600],
    [workspaceReader(stage, reader, teamId, workspaceId), 250],
    [workspaceReader(stage, reader, teamId, workspaceId), 250],
  ];
}
