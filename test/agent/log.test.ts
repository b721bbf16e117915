/** Uploads of a run's log, in order and bounded; and the heartbeat of a job. */
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { JobLost } from "../../src/agent/client.ts";
import { RunLog } from "../../src/agent/log.ts";
import { Heartbeat } from "../../src/agent/job-supervisor.ts";
import { ServerRejection, ServerUnreachable } from "../../src/agent/server.ts";
import { scaled, until } from "../support/waiting.ts";

interface Sent {
  readonly offset: number;
  readonly text: string;
}

function recorder(wait = 0) {
  const sent: Sent[] = [];
  const send = async (offset: number, bytes: Uint8Array) => {
    if (wait > 0) await pause(wait);
    sent.push({ offset, text: Buffer.from(bytes).toString("latin1") });
  };
  return { sent, send, text: () => sent.map(({ text }) => text).join("") };
}

describe("RunLog", () => {
  it("sends many lines per request, with consecutive offsets", async () => {
    const { sent, send, text } = recorder();
    const log = new RunLog({ send, bytesMax: 1e9, secrets: [] });
    const written = Array.from({ length: 60 }, (_, line) => `line ${line};`);
    for (const [line, words] of written.entries()) {
      await log.write(Buffer.from(words));
      if (line % 20 === 19) await until(() => text() === written.slice(0, line + 1).join(""));
    }
    await log.end();
    expect(sent.length).toBeLessThan(20);
    let offset = 0;
    for (const chunk of sent) {
      expect(chunk.offset).toBe(offset);
      offset += chunk.text.length;
    }
    expect(text()).toBe(written.join(""));
  });

  it("applies backpressure to a fast writer, and buffers little", async () => {
    const { sent, send } = recorder(20);
    const log = new RunLog({ send, bytesMax: 1e9, secrets: ["a secret that is not there"] });
    let written = 0;
    for (let piece = 0; piece < 320; piece += 1) {
      await log.write(Buffer.alloc(64 * 1024, 120));
      written += 64 * 1024;
      expect(written - sent.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(3 * 1024 ** 2);
    }
    await log.end();
    expect(sent.reduce((sum, { text }) => sum + text.length, 0)).toBe(written);
  });

  it("masks across chunk boundaries before it counts bytes", async () => {
    const { send, text } = recorder();
    const log = new RunLog({ send, bytesMax: 1e9, secrets: ["correct horse"] });
    await log.write(Buffer.from("it is corr"));
    await until(() => text() !== "");
    expect(text()).toBe("it is ");
    await log.write(Buffer.from("ect horse.\n"));
    await log.end();
    expect(text()).toBe("it is ***.\n");
  });

  it("replaces start and end markers, which only the server writes", async () => {
    const { send, text } = recorder();
    const log = new RunLog({ send, bytesMax: 1e9, secrets: [] });
    await log.write(Buffer.from("a\u0002b\u0003c"));
    await log.end();
    expect(text()).toBe("a?b?c");
  });

  it("throws the error of sending at the next write", async () => {
    const log = new RunLog({ send: () => Promise.reject(new JobLost("gone")), bytesMax: 1e9, secrets: [] });
    await log.write(Buffer.from("a"));
    await expect(log.end()).rejects.toThrow("gone");
    await expect(log.write(Buffer.from("b"))).rejects.toThrow("gone");
  });

  it("is full when the server rejects more", async () => {
    const log = new RunLog({
      send: () => Promise.reject(new ServerRejection(413, "too long")),
      bytesMax: 1e9,
      secrets: [],
    });
    await log.write(Buffer.from("a"));
    await log.end();
  });
});

describe("Heartbeat", () => {
  it("loses the job when the server is unreachable for too long, and not before", async () => {
    const lost = new AbortController();
    const silenceMs = scaled(1_500);
    const heartbeat = new Heartbeat(lost, () => undefined, silenceMs);
    let answers = true;
    let answeredAt = 0;
    const client = {
      heartbeat: async () => {
        await pause(50);
        if (!answers) throw new ServerUnreachable("nobody");
        answeredAt = performance.now();
        return null;
      },
    };
    heartbeat.start(client);
    await pause(silenceMs + 1_000);
    expect(lost.signal.aborted).toBe(false);
    answers = false;
    await until(() => lost.signal.aborted);
    expect(performance.now() - answeredAt).toBeGreaterThan(silenceMs / 2);
    expect((lost.signal.reason as Error).message).toContain("could not be reached");
    heartbeat.stop();
  });

  it("passes each signal on once, and polls more slowly afterwards", async () => {
    const signals: string[] = [];
    let beats = 0;
    let signal: "cancel" | "kill" = "cancel";
    const heartbeat = new Heartbeat(new AbortController(), (name) => signals.push(name));
    heartbeat.start({
      heartbeat: async () => {
        beats += 1;
        return signal;
      },
    });
    await until(() => beats > 1);
    signal = "kill";
    await until(() => signals.length === 2);
    heartbeat.stop();
    expect(signals).toEqual(["cancel", "kill"]);
    expect(beats).toBeLessThan(6);
  });

  it("loses the job immediately when another agent has it", async () => {
    const lost = new AbortController();
    const heartbeat = new Heartbeat(lost, () => undefined);
    heartbeat.start({ heartbeat: () => Promise.reject(new JobLost("another has it")) });
    await until(() => lost.signal.aborted);
    expect((lost.signal.reason as Error).message).toBe("another has it");
    heartbeat.stop();
  });
});
