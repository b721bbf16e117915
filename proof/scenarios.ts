/** The faults that are injected into a cluster under load. Each ends with a healthy cluster, which recovers automatically where possible. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, isReady, type Server } from "../deploy/cluster/cluster.ts";
import { until } from "../deploy/cluster/parts.ts";
import type { Node } from "../deploy/cluster/patroni.ts";
import { fill, free, hasSmallDisks } from "./space.ts";
import type { Stage } from "./stage.ts";

export interface Scenario {
  readonly name: string;
  /** For the table. */
  readonly title: string;
  /** Needs nodes whose data is on small disks, which can be filled. */
  readonly onSmallDisks?: true;
  /** Why it can't run here, if it can't. */
  readonly obstacle?: (cluster: Cluster) => string | undefined;
  readonly run: (cluster: Cluster, stage: Stage) => Promise<void>;
}

const seconds = (count: number) => sleep(count * 1000);

async function primaryOf(cluster: Cluster): Promise<Node> {
  return until(() => cluster.primary(), "there is one primary");
}

const others = (cluster: Cluster, node: Node) => cluster.nodes.filter((each) => each !== node);

async function untilAnotherLeads(cluster: Cluster, former: Node): Promise<void> {
  await until(async () => {
    const roles = await Promise.all(others(cluster, former).map((node) => node.role()));
    return roles.includes("primary");
  }, "another node leads");
}

async function untilServing(server: Server): Promise<void> {
  await until(() => isReady(server), `${server.name} serves`);
}

const primaryKilled: Scenario = {
  name: "primary-killed",
  title: "the primary's machine is lost (PostgreSQL and Patroni killed) and comes back later",
  run: async (cluster, { history }) => {
    const node = await primaryOf(cluster);
    history.mark(`${node.name} is killed`);
    await node.part.kill();
    await untilAnotherLeads(cluster, node);
    history.mark("another node leads");
    await seconds(6);
    node.part.start();
  },
};

const databaseKilled: Scenario = {
  name: "database-killed",
  title: "only the primary's PostgreSQL is killed (all its processes, kill -9)",
  run: async (cluster, { history }) => {
    const node = await primaryOf(cluster);
    history.mark(`PostgreSQL of ${node.name} is killed`);
    node.killDatabase();
    await seconds(15);
  },
};

const primaryHangs: Scenario = {
  name: "primary-hangs",
  title: "the primary's machine is paused for 40 s (SIGSTOP, SIGCONT)",
  run: async (cluster, { history }) => {
    const node = await primaryOf(cluster);
    history.mark(`${node.name} hangs`);
    node.part.pause();
    try {
      await seconds(40);
    } finally {
      node.part.resume();
    }
    history.mark(`${node.name} goes on`);
    await seconds(5);
  },
};

const serverKilled: Scenario = {
  name: "server-killed",
  title: "each server in turn is killed (kill -9) and restarted",
  run: async (cluster, stage) => {
    for (const server of cluster.servers) {
      stage.goesDown(server);
      stage.history.mark(`${server.name} is killed`);
      await server.part.kill();
      await seconds(4);
      server.part.start();
      await untilServing(server);
      stage.isBack(server);
      await seconds(3);
    }
  },
};

const serverCut: Scenario = {
  name: "server-cut",
  title: "a server's connection to the database is cut for 15 s, cut until connections time out, and reset six times",
  run: async (cluster, { history }) => {
    const [{ wire, name }] = cluster.servers as [Server, ...Server[]];
    for (const isForgotten of [false, true]) {
      history.mark(`${name} is cut from the database`);
      wire.cut();
      await seconds(15);
      wire.heal({ isForgotten });
      history.mark(`${name} is reached again`);
      await seconds(5);
    }
    for (let times = 0; times < 6; times += 1) {
      wire.breakOff();
      await seconds(1);
    }
  },
};

const primaryCut: Scenario = {
  name: "primary-cut",
  title: "the primary is cut off (from nodes, etcd and servers) until another one leads, and 10 s more",
  run: async (cluster, { history }) => {
    const node = await primaryOf(cluster);
    history.mark(`${node.name} is cut off`);
    node.cutOff(others(cluster, node));
    try {
      await untilAnotherLeads(cluster, node);
      history.mark("another node leads");
      await seconds(10);
    } finally {
      node.rejoin(others(cluster, node));
    }
    history.mark(`${node.name} is reached again`);
  },
};

const standbyCut: Scenario = {
  name: "standby-cut",
  title: "the synchronous standby is cut off for 25 s",
  run: async (cluster, { history }) => {
    const rows = await cluster.ask<{ application_name: string }>(
      "select application_name from pg_stat_replication where sync_state = 'sync'",
    );
    const node = cluster.nodes.find(({ name }) => name === rows[0]?.application_name);
    if (node === undefined) throw new Error("no node follows synchronously");
    history.mark(`${node.name} is cut off`);
    node.cutOff(others(cluster, node));
    try {
      await seconds(25);
    } finally {
      node.rejoin(others(cluster, node));
    }
    history.mark(`${node.name} is reached again`);
  },
};

const etcdKilled: Scenario = {
  name: "etcd-killed",
  title: "one of three etcd members is killed and restarted",
  run: async (cluster, { history }) => {
    const [member] = cluster.members;
    history.mark("a member of etcd is killed");
    await member?.part.kill();
    await seconds(15);
    member?.part.start();
    await seconds(5);
  },
};

const slowDatabase: Scenario = {
  name: "database-slow",
  title: "every statement takes 2 s longer, for 40 s",
  run: async (cluster, { history }) => {
    history.mark("statements take 2 s");
    for (const { wire } of cluster.servers) wire.slow(2_000);
    try {
      await seconds(40);
    } finally {
      for (const { wire } of cluster.servers) wire.slow(0);
    }
    history.mark("statements are fast again");
  },
};

const diskFull: Scenario = {
  name: "disk-full",
  title: "the primary's disk is full for 40 s",
  onSmallDisks: true,
  obstacle: () =>
    hasSmallDisks() ? undefined : "it needs a mount namespace, which this machine doesn't allow (see unshare)",
  run: async (cluster, { history }) => {
    const node = await primaryOf(cluster);
    history.mark(`the disk of ${node.name} is full`);
    const until = performance.now() + 40_000;
    try {
      // Repeatedly, because PostgreSQL frees space by removing files.
      while (performance.now() < until) {
        fill(node.dataFolder);
        await seconds(1);
      }
    } finally {
      free(node.dataFolder);
    }
    history.mark("there is room again");
  },
};

const clocksMoved: Scenario = {
  name: "clocks-moved",
  title: "for 45 s one server's clock is an hour ahead, another's an hour behind",
  obstacle: (cluster) => (cluster.canMoveClocks ? undefined : "it needs libfaketime: apt-get install libfaketime"),
  run: async (cluster, { history }) => {
    const [ahead, back] = cluster.servers as [Server, Server];
    history.mark("clocks jump");
    ahead.clock.move(3_600);
    back.clock.move(-3_600);
    try {
      await seconds(45);
    } finally {
      for (const { clock } of [ahead, back]) clock.move(0);
    }
    history.mark("clocks are right again");
    await seconds(35);
  },
};

const nothing: Scenario = {
  name: "nothing",
  title: "no fault for 20 s, as a baseline",
  run: async () => {
    await seconds(20);
  },
};

export const scenarios: readonly Scenario[] = [
  nothing,
  primaryKilled,
  databaseKilled,
  primaryHangs,
  primaryCut,
  standbyCut,
  etcdKilled,
  serverKilled,
  serverCut,
  slowDatabase,
  diskFull,
  clocksMoved,
];
