/** An agent that executes a single job: when it exits, with which code, and what it leaves at the server. */
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { cadastre, start } from "../cli/support.ts";
import { addFakeEngine } from "../support/engines.ts";
import { isRunning } from "../support/site.ts";
import { scaled, until } from "../support/waiting.ts";
import { openFolder } from "./support/agent.ts";
import { agentToken, TestServer } from "./support/server.ts";

const engines = openFolder();
addFakeEngine(engines);
const folders = [engines];
const servers: TestServer[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const config = (settings: object) => ({ "main.tf": "", "stand-in.json": JSON.stringify(settings) });

async function newServer(): Promise<TestServer> {
  const server = new TestServer();
  servers.push(server);
  await server.listen();
  return server;
}

function startOnce(url: string, wait: number, environment: Record<string, string> = {}) {
  const folder = openFolder();
  folders.push(folder);
  return start(["agent", "--once", "--wait", String(wait)], {
    CADASTRE_AGENT_SERVER: url,
    CADASTRE_AGENT_TOKEN: agentToken,
    CADASTRE_AGENT_SLOTS: "4",
    CADASTRE_AGENT_DIRECTORY: join(folder, "home"),
    CADASTRE_ENGINES: engines,
    CADASTRE_SANDBOX: "none",
    ...environment,
  });
}

describe("cadastre agent --once", () => {
  it("executes one job of several, deletes itself, and exits with 0", async () => {
    const server = await newServer();
    const [first, second] = [
      server.add({ files: config({ resources: { a: "1" } }) }),
      server.add({ files: config({}) }),
    ];
    expect(await startOnce(server.url, 60).ended).toMatchObject({ code: 0 });
    expect(first.finished).toMatchObject({ result: "finished" });
    expect([second.starts, second.log]).toEqual([0, ""]);
    expect([server.registered.length, server.claims, server.left]).toEqual([1, 1, ["agent-1"]]);
  });

  it("waits for a job, and exits with 0 also if the run errors", async () => {
    const server = await newServer();
    const agent = startOnce(server.url, 60);
    await until(() => server.claims === 1);
    const job = server.add({ files: config({ planFails: "no such thing" }) });
    expect(await agent.ended).toMatchObject({ code: 0 });
    expect([job.finished?.["result"], server.left]).toEqual(["errored", ["agent-1"]]);
  });

  it.each([0, 2])("exits with 0 if no job comes within %i seconds", async (wait) => {
    const server = await newServer();
    expect(await startOnce(server.url, wait).ended).toMatchObject({ code: 0, err: "" });
    expect(server.claims).toBeGreaterThan(0);
    expect(server.left).toEqual(["agent-1"]);
  });

  it("exits with 1 if its token is rejected", async () => {
    const server = await newServer();
    const agent = startOnce(server.url, 60, { CADASTRE_AGENT_TOKEN: "some-other-token-0123456789" });
    expect(await agent.ended).toMatchObject({ code: 1, err: expect.stringContaining("Check CADASTRE_AGENT_TOKEN") });
  });

  it("exits with 1 if the server can't be reached, or is unavailable, for all of the wait", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await until(() => closed.listening);
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const server = await newServer();
    server.troubles.push({ path: /agents/, status: 503, times: 1000 });
    const agents = [startOnce(`http://127.0.0.1:${port}`, 1), startOnce(server.url, 1)];
    for (const agent of agents)
      expect(await agent.ended).toMatchObject({
        code: 1,
        err: expect.stringMatching(/could not be reached for 5 seconds/),
      });
  });

  it("takes a job if the server can be reached only later, and exits with 0 if it can't be reached any more", async () => {
    const server = await newServer();
    server.troubles.push({ path: /agents$/, status: 503, times: 1 });
    const job = server.add({ files: config({}) });
    expect(await startOnce(server.url, 60).ended).toMatchObject({ code: 0 });
    expect(job.finished).toMatchObject({ result: "finished" });
    const agent = startOnce(server.url, Math.ceil(scaled(3_000) / 1000));
    await until(() => server.claims === 2);
    server.isDeaf = true;
    expect(await agent.ended).toMatchObject({ code: 0 });
  });

  it("on SIGTERM while it waits, claims nothing, deletes itself, and exits with 0", async () => {
    const server = await newServer();
    const agent = startOnce(server.url, 600);
    await until(() => server.claims === 1);
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ code: 0 });
    expect(server.left).toEqual(["agent-1"]);
  });

  it("on SIGTERM during its job, finishes it", async () => {
    const server = await newServer();
    const agent = startOnce(server.url, 60);
    const job = server.add({ files: config({ print: ["begun"], planMs: scaled(1_500) }) });
    await until(() => job.log.includes("begun"));
    agent.process.kill("SIGTERM");
    expect(await agent.ended).toMatchObject({ code: 0, out: expect.stringContaining("agent draining jobs=1") });
    expect([job.finished?.["result"], server.left]).toEqual(["finished", ["agent-1"]]);
  });

  it("when killed, takes its engine with it", async () => {
    const server = await newServer();
    const agent = startOnce(server.url, 60);
    const job = server.add({ files: config({ print: ["begun"], planMs: 60_000 }) });
    await until(() => job.log.includes("begun"));
    agent.process.kill("SIGKILL");
    await agent.ended;
    await until(() => !isRunning(job.runId));
    expect([job.finished, server.left]).toEqual([undefined, []]);
  });

  it("reports its exit to an older server, which doesn't let agents delete themselves", async () => {
    const server = await newServer();
    server.troubles.push({ path: /agents\/agent-1$/, status: 404, times: 1 });
    expect(await startOnce(server.url, 0).ended).toMatchObject({ code: 0 });
    expect([server.left, server.pings.at(-1)?.status]).toEqual([[], "exited"]);
  });

  it.each([
    [["--wait", "5"], /--wait is only for --once/],
    [["--once", "--wait", "soon"], /--wait is "soon", but must be a whole number of seconds/],
    [["--once", "--wait", "-1"], /wait/],
    [["--once=yes"], /once/],
  ])("is refused with %j", async (words, sentence) => {
    const environment = { CADASTRE_AGENT_SERVER: "http://127.0.0.1:1", CADASTRE_AGENT_TOKEN: agentToken };
    expect(await cadastre(["agent", ...words], environment)).toMatchObject({
      code: 2,
      err: expect.stringMatching(sentence),
    });
  });
});
