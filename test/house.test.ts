/** The house holds together: who may import whom, told once as a table and read off the code's own imports. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";

const base = ["kernel", "statefile", "access", "jsonapi", "database"];
const register = ["shared", "identity", "site", "register"].map((room) => `resources/${room}`);

const beside = ["sharing", "variables", "connections", "state"].map((room) => `resources/${room}`);

/** Each room, and the rooms below it. Nothing else may be imported; files of one room may import each other. */
const below: Record<string, readonly string[]> = {
  kernel: [],
  statefile: ["kernel"],
  archive: ["kernel"],
  outgoing: ["kernel"],
  sandbox: ["kernel"],
  agent: ["kernel", "archive", "sandbox", "statefile", "version.ts"],
  access: ["kernel"],
  jsonapi: ["kernel"],
  database: ["kernel"],
  backup: ["kernel", "database"],
  "resources/shared": [...base, "outgoing"],
  "resources/identity": [...base, "outgoing", ...register.slice(0, 1)],
  "resources/site": [...base, ...register.slice(0, 2)],
  "resources/register": [...base, ...register.slice(0, 3)],
  "resources/sharing": [...base, ...register],
  "resources/variables": [...base, ...register],
  "resources/connections": [...base, "outgoing", ...register],
  "resources/state": [...base, ...register],
  "resources/runs": [...base, "archive", ...register, ...beside],
  "resources/vcs": [...base, "archive", "outgoing", "sandbox", ...register, ...beside, "resources/runs"],
  "resources/index.ts": [...base, "resources/*"],
  jobs: [...base, "backup", "resources/*"],
  http: [...base, "backup", "resources/*", "version.ts"],
  moving: [...base, "resources/*", "version.ts"],
  "version.ts": [],
  "settings.ts": ["kernel", "version.ts"],
  "service.ts": [...base, "resources/*", "settings.ts"],
  "workers.ts": ["kernel", "database", "agent", "resources/*", "settings.ts", "service.ts"],
  "console.ts": [],
  "announcement.ts": ["kernel", "http", "settings.ts", "service.ts", "version.ts"],
  "tls.ts": ["kernel"],
  "main.ts": ["*"],
  cli: ["*"],
};

/** The folders of a room, from below; `operations.ts` of each is above all of them. */
const folders: Record<string, readonly string[]> = {
  "resources/runs": [
    "phases",
    "agents",
    "run-events",
    "configuration-versions",
    "runs",
    "run-triggers",
    "plan-outputs",
    "assessment-results",
    "auto-destroy",
    "identity-keys",
    "agent-jobs",
    "run-streams",
  ],
};

/** Imports from a folder to one above it, each with its reason. */
const upward = [
  // An upload queues the run that it asked for, in its transaction.
  "resources/runs/configuration-versions/upload.ts → resources/runs/runs/lifecycle.ts",
  // An apply leaves a note for the job that starts what follows it, in its transaction.
  "resources/runs/runs/lifecycle.ts → resources/runs/run-triggers/writes.ts",
];

interface Import {
  from: string;
  to: string;
}

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.split(sep).join("/"));

const imports: Import[] = files.flatMap((from) =>
  [...readFileSync(join("src", from), "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map((match) => ({
    from,
    to: match[1]!.startsWith(".") ? normalize(join(dirname(from), match[1]!)) : match[1]!,
  })),
);

const inside = imports.filter(({ to }) => to.endsWith(".ts"));

/** `resources/register/projects/store.ts` → `resources/register`; `http/mount.ts` → `http`; `main.ts` → `main.ts` */
function roomOf(file: string): string {
  const parts = file.split("/");
  return parts[0] === "resources" ? parts.slice(0, 2).join("/") : parts[0]!;
}

/** `resources/register/projects/store.ts` → `resources/register/projects` */
const resourceOf = (file: string) => file.split("/").slice(0, 3).join("/");

function mayImport(from: string, to: string): boolean {
  const [here, there] = [roomOf(from), roomOf(to)];
  return (
    here === there ||
    (below[here] ?? []).some((room) => room === there || (room.endsWith("*") && there.startsWith(room.slice(0, -1))))
  );
}

const told = ({ from, to }: Import) => `${from} → ${to}`;

describe("the house", () => {
  it("has a place in the table for every room", () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !(room in below))).toEqual([]);
  });

  it("imports run one way, from room to room", () => {
    expect(
      inside
        .filter(({ from, to }) => !mayImport(from, to))
        .map(told)
        .sort(),
    ).toEqual([]);
  });

  it("imports run one way, from folder to folder of a room, but for a named few", () => {
    const height = (file: string) => folders[roomOf(file)]?.indexOf(file.split("/")[2] ?? "") ?? -1;
    const found = inside.filter(
      ({ from, to }) => roomOf(from) === roomOf(to) && !from.endsWith("/operations.ts") && height(to) > height(from),
    );
    const unordered = files.filter((file) => file.split("/").length > 3 && roomOf(file) in folders && height(file) < 0);
    expect(unordered).toEqual([]);
    expect(found.filter(({ from }) => height(from) >= 0).map(told)).toEqual(upward);
  });

  it("only the life cycle, and history that is imported, write runs and their phases", () => {
    const writers = inside.filter(({ to }) => to === "resources/runs/runs/transaction.ts").map(({ from }) => from);
    expect(writers.toSorted()).toEqual([
      "resources/runs/run-events/operations.ts",
      "resources/runs/run-triggers/firing.ts",
      "resources/runs/runs/history.ts",
      "resources/runs/runs/lifecycle.ts",
    ]);
  });

  it("a resource's operations and store are its own: others ask its reads and writes", () => {
    const strangers = inside.filter(
      ({ from, to }) =>
        /^resources\/[^/]+\/[^/]+\/(.*\/)?(operations|store)\.ts$/.test(to) &&
        resourceOf(from) !== resourceOf(to) &&
        from !== "resources/index.ts",
    );
    expect(strangers.map(told)).toEqual([]);
  });

  it("only database/engines knows drivers", () => {
    const drivers = imports.filter(
      ({ from, to }) => ["pg", "node:sqlite"].includes(to) && !from.startsWith("database/engines/"),
    );
    expect(drivers.map(told)).toEqual([]);
  });
});
