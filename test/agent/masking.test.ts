/** Secrets are never shown, however the stream is split; everything else is. */
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJob } from "../../src/agent/job.ts";
import { masked, Masker } from "../../src/agent/masking.ts";
import { ServerConnection } from "../../src/agent/server.ts";
import { readAgentSettings } from "../../src/agent/settings.ts";
import { AgentJobRun } from "../../src/agent/job-run.ts";
import { secretSpellings } from "../../src/kernel/secret-spellings.ts";
import { findTools, makeSandbox } from "../../src/sandbox/choose.ts";
import { deep, seed } from "../support/depth.ts";
import { addFakeEngine } from "../support/engines.ts";
import { newFolder } from "../support/folder.ts";
import { expectLinear } from "../support/growth.ts";
import { agentToken, TestServer } from "./support/server.ts";
import { itInGate } from "../support/engine-independent.ts";

const options = { seed, numRuns: deep(300, 10_000) };

/** Few letters, so that secrets overlap each other and themselves, and begin in many places. */
const word = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: min, maxLength: max });

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

function shownInPieces(secrets: string[], pieces: readonly Buffer[]): string {
  const masker = new Masker(secrets);
  return Buffer.concat([...pieces.map((piece) => masker.write(piece)), masker.end()]).toString("latin1");
}

/** The naive algorithm, letter by letter: hides every occurrence of a spelling. */
function oracle(forms: readonly Buffer[], text: Buffer): string {
  const hidden = Array.from({ length: text.length }, () => false);
  for (const form of forms)
    for (let at = 0; at + form.length <= text.length; at += 1)
      if (text.subarray(at, at + form.length).equals(form)) hidden.fill(true, at, at + form.length);
  return [...text]
    .map((byte, at) => (!hidden[at] ? String.fromCharCode(byte) : at > 0 && hidden[at - 1] ? "" : "***"))
    .join("");
}

describe("masking", () => {
  it("hides what a plain search finds, however the stream is split", () => {
    fc.assert(
      fc.property(
        fc.array(word(4, 9), { maxLength: 4 }),
        word(0, 80),
        fc.array(fc.nat(200), { maxLength: 12 }),
        (secrets, text, places) => {
          const bytes = Buffer.from(text);
          expect(shownInPieces(secrets, cut(bytes, places))).toBe(oracle(secretSpellings(secrets), bytes));
        },
      ),
      options,
    );
  });

  itInGate("hides a secret in each of its spellings, at every split", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 6, maxLength: 30, unit: "grapheme" }).filter((text) => text.trim().length >= 6),
        fc.string(),
        fc.string(),
        (secret, before, after) => {
          const spellings = [
            secret,
            JSON.stringify(secret).slice(1, -1),
            Buffer.from(secret).toString("base64"),
            JSON.stringify(JSON.stringify({ secret })),
          ];
          for (const spelling of spellings) {
            const bytes = Buffer.from(`${before} ${spelling} ${after}`);
            for (let place = 0; place <= bytes.length; place += 1)
              expect(shownInPieces([secret], cut(bytes, [place]))).not.toContain(
                Buffer.from(secret).toString("latin1"),
              );
          }
        },
      ),
      { ...options, numRuns: deep(40, 1000) },
    );
  });

  it("hides the base64 of a longer text that contains it", () => {
    for (const before of ["", "u", "us", "user:"]) {
      const text = Buffer.from(`${before}correct horse battery`).toString("base64");
      expect(masked(["correct horse battery"], text)).toContain("***");
      expect(masked(["correct horse battery"], text)).not.toContain(text.slice(8, 20));
    }
  });

  it("hides what Go escapes for HTML, and each line of a multi-line secret", () => {
    expect(masked(["a<b>&c"], String.raw`x a\u003cb\u003e\u0026c y`)).toBe("x *** y");
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n";
    expect(masked([key], "    MIIEvQIBADANBg\n    kqhkiG9w0BAQEF\n")).toBe("    ***\n    ***\n");
  });

  it.each(["", "abc", "true", "false", "null"])("does not mask values that are too common: '%s'", (secret) => {
    expect(masked([secret], `{"abc":true,"x":[false,null]}`)).toBe(`{"abc":true,"x":[false,null]}`);
  });

  it("holds back no bytes that can't become part of a secret", () => {
    const masker = new Masker(["x".repeat(4000)]);
    expect(String(masker.write(Buffer.from("a line\n")))).toBe("a line\n");
    expect(String(masker.write(Buffer.from("xxx")))).toBe("");
    expect(String(masker.write(Buffer.from("y")))).toBe("xxxy");
  });
});

describe("an unexpected error of a job", () => {
  it("hides secrets where the agent reports it: in the result, the log and the agent's own output", async () => {
    const server = new TestServer();
    await server.listen();
    try {
      const value = "correct horse";
      const variable = { key: "secret", value, category: "terraform", sensitive: true };
      const report = server.add({ files: {}, attributes: { variables: [variable] } });
      const claim = await fetch(`${server.url}/api/v2/agents/agent-1/actions/claim`, {
        method: "POST",
        headers: { authorization: `Bearer ${agentToken}` },
        body: JSON.stringify({ wait: 1, engines: { terraform: ["1.5.7"] } }),
      });
      const environment = {
        CADASTRE_AGENT_SERVER: server.url,
        CADASTRE_AGENT_TOKEN: agentToken,
        CADASTRE_ENGINE_MIRROR: "off",
      };
      // A missing directory, so that the error's message and stack contain its name.
      const agentDirectory = join(newFolder("cadastre-masking-"), value);
      const engines = newFolder("cadastre-engines-");
      addFakeEngine(engines);
      const settings = { ...readAgentSettings({ environment }), agentDirectory, engines };
      const sandbox = makeSandbox("none", settings, findTools(), []);
      if (typeof sandbox === "string") throw new Error(sandbox);
      const lines: string[] = [];
      const mounts = { mirror: undefined, ca: undefined, knownHosts: undefined };
      const say = (line: string) => void lines.push(line);
      const options = {
        slot: 0,
        settings,
        sandbox,
        cgroup: undefined,
        mounts,
        lostStatesDirectory: agentDirectory,
        say,
        reportUnavailable: () => Promise.resolve(),
      };
      await new AgentJobRun(parseJob(await claim.json()), {
        ...options,
        server: new ServerConnection(server.url),
      }).execute();
      expect(report.finished).toMatchObject({ "error-message": expect.stringMatching(/ENOENT.*\*\*\*/) });
      expect(lines.join("\n")).toMatch(/ENOENT.*\*\*\*/);
      expect(JSON.stringify([report, lines])).not.toContain(value);
    } finally {
      await server.close();
    }
  });
});

describe("the cost of masking", () => {
  const sizeMax = 256 * 1024;
  /** In chunks of this many bytes. */
  const shownLength = (secrets: readonly string[], text: string, pieceLength: number): number => {
    const masker = new Masker(secrets);
    const bytes = Buffer.from(text);
    let length = 0;
    for (let at = 0; at < bytes.length; at += pieceLength)
      length += masker.write(bytes.subarray(at, at + pieceLength)).length;
    return length + masker.end().length;
  };

  itInGate.each([
    ["a secret of one letter, and a text of the same", (size: number) => ["a".repeat(size)], () => "a"],
    ["a secret that the text never ends", (size: number) => [`${"a".repeat(size)}b`], () => "a"],
    ["a secret that consists of another", (size: number) => ["abcd", `${"abcd-".repeat(size / 5)}!`], () => "abcd-"],
    [
      "many secrets",
      (size: number) => Array.from({ length: size / 8 }, (_, index) => `s-${index}`),
      (size: number) => `s-${Math.floor(size / 16)} `,
    ],
  ])("grows no faster than its input: %s", async (what, secretsOf, wordOf) => {
    for (const pieceLength of [64 * 1024, 100])
      await expectLinear(
        `${what}, in pieces of ${pieceLength}`,
        (size) => {
          const word = wordOf(size);
          return shownLength(secretsOf(size), word.repeat((2 * size) / word.length), pieceLength);
        },
        deep(sizeMax / 4, sizeMax),
        3,
      );
  });

  itInGate("takes 100,000 secrets at once", () => {
    const secrets = Array.from({ length: 100_000 }, (_, index) => `secret-${index}`);
    expect(masked(secrets, "a secret-4711 b secret-x c")).toBe("a *** b secret-x c");
  });
});
