/** Runs the shell blocks of the documents, unchanged and in order. */
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { PastingTerminal } from "../support/terminal.ts";
import { type BlockPlan, blocksOf, plans, plansFor } from "./shell-blocks.ts";
import { dropRegistersAfterwards, newRegister, tokenIn, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();

const isThere = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** Replaces only what a test can't share with others: ports, names and the network. */
const exchanged: readonly (readonly [RegExp, string])[] = [
  // Done before the tests started.
  [/^npm ci(?: && |\n)/m, ""],
  [/--listen 0\.0\.0\.0:\d+/g, "--listen 127.0.0.1:0"],
];

/** A checkout with its own `data/`. */
function checkout(name: string): string {
  const place = join(folder, name);
  mkdirSync(place);
  for (const entry of ["bin", "src", "node_modules", "package.json"]) symlinkSync(resolve(entry), join(place, entry));
  return place;
}

const environment = {
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "",
  CADASTRE_LISTEN: "127.0.0.1:0",
  CADASTRE_CONSOLE: "off",
  CADASTRE_LOG_LEVEL: "fatal",
};

/** A reader of a document, from the beginning to the end. */
class Reader {
  readonly #place: string;
  readonly #terminal: PastingTerminal;
  #service: { readonly terminal: PastingTerminal; readonly block: string } | undefined;
  #functions = "";
  #url = "";

  constructor(name: string) {
    this.#place = checkout(name);
    this.#terminal = new PastingTerminal(this.#place, environment);
  }

  async follow(block: string, { run, first }: BlockPlan): Promise<void> {
    const text = await this.#meant(block);
    if (first !== undefined) await this.#service?.terminal.close();
    if (first === "restart" && this.#service !== undefined) await this.#serve(this.#service.block);
    if (run === "serve") await this.#serve(text);
    else await this.#terminal.paste(text);
    if (/^\w+\(\) \{/.test(text)) this.#functions += text;
  }

  async close(): Promise<void> {
    await Promise.all([this.#terminal.close(), this.#service?.terminal.close()]);
  }

  async #meant(block: string): Promise<string> {
    let text = exchanged.reduce((written, [pattern, other]) => written.replace(pattern, other), block);
    if (text.includes("@db.example/")) {
      const { CADASTRE_DATABASE: address } = await newRegister("postgres");
      text = text.replaceAll(/postgres:\/\/\S+@db\.example\/\w+/g, address);
    }
    return this.#url === "" ? text : text.replaceAll("http://127.0.0.1:8080", this.#url);
  }

  /** The first server stays, as the documents say; one on another database or address is started and stopped. */
  async #serve(block: string): Promise<void> {
    const terminal = new PastingTerminal(this.#place, environment);
    if (this.#functions !== "") await terminal.paste(this.#functions);
    const said = await terminal.start(block, /Address +(\S+)[\s\S]*Ctrl\+C/);
    const isFirst = this.#service === undefined || this.#service.block === block;
    if (!isFirst) return terminal.close();
    this.#service = { terminal, block };
    this.#url = /Address +(\S+)/.exec(said)?.[1] ?? "";
    const token = tokenIn(said);
    if (token !== undefined) await this.#terminal.paste(`export TOKEN=${token}`);
  }
}

test("a failing block fails the test", async () => {
  const terminal = new PastingTerminal(folder, environment);
  expect(await terminal.paste("MADE=yes\necho made")).toBe("made\n");
  expect(await terminal.paste('echo "$MADE"')).toBe("yes\n");
  await expect(terminal.paste("false && echo not reached")).rejects.toThrow("This failed");
  await expect(terminal.paste("cd /nowhere\necho not reached")).rejects.toThrow("This failed");
  await terminal.close();
});

describe.each(Object.keys(plans).filter((document) => runnable(document).length > 0))("%s", (document) => {
  const reader = new Reader(document.replaceAll(/\W/g, "-"));
  afterAll(() => reader.close());

  // In the order of the document, because a block may need the result of an earlier one.
  test.each(runnable(document))("$plan.begins …", async ({ block, plan }) => {
    if ((plan.needs ?? []).every(isThere)) await reader.follow(block, plan);
  });
});

function runnable(document: string) {
  return blocksOf(document).flatMap((block) =>
    plansFor(document, block).flatMap((plan) => (plan.run === undefined ? [] : [{ block, plan }])),
  );
}
