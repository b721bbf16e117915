/** Every exported value is imported by another file of `src/`, and no file re-exports values of another. */
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";
import { type Node, readSource, sourcePaths } from "./support/code.ts";

/** Exported only for tests, which test them in isolation. */
const forTests = new Set([
  "agent/engines.ts compareVersions",
  "agent/engines.ts isAtLeast",
  "agent/job-supervisor.ts Heartbeat",
  "agent/overrides.ts laterOverrides",
  "agent/overrides.ts canNameBackend",
  "agent/server.ts ServerUnreachable",
  "agent/variables.ts hostOf",
  "agent/variables.ts canBeSet",
  "archive/check.ts readmeBytesMax",
  "backup/format.ts triggerMaintainedTables",
  "backup/schedule.ts recordBackup",
  "database/migrations/0008-identity.ts downloadOf",
  "database/migrations/0008-identity.ts shippedReleases",
  "http/response-cache.ts CachedResponses",
  "http/log-output.ts readable",
  "http/server.ts describeApi",
  "jobs/index.ts backupJob",
  "jobs/index.ts notificationSenders",
  "jsonapi/openapi.ts callersOf",
  "moving/exporting/hcl.ts valueText",
  "resources/connections/notification-configurations/triggers.ts runTriggerNames",
  "resources/runs/identity-keys/rules.ts identityLifeMaxMs",
  "resources/runs/phases/logs.ts endLog",
  "resources/runs/runs/state-machine.ts lifecycleEventNames",
  "resources/runs/runs/state-machine.ts runStatuses",
  "resources/shared/contents/register-identity.ts registerIdFact",
  "resources/shared/contents/register-identity.ts registerOriginFact",
  "resources/shared/outbox/webhook.ts signatureOf",
  "resources/vcs/fetching/git-sandbox.ts findGit",
  "sandbox/bubblewrap.ts bubblewrapArguments",
  "statefile/json-scanner.ts depthMax",
  "statefile/json-scanner.ts keyBytesMax",
]);

const text = (node: unknown): string => String((node as Node)["name"] ?? (node as Node)["value"]);
const statementsOf = (path: string) => readSource(path).program["body"] as readonly Node[];
const partsOf = (statement: Node) => statement["specifiers"] as readonly Node[];

function sourceOf(path: string, statement: Node): string | undefined {
  const source = statement["source"] as Node | null | undefined;
  return source ? normalize(join(dirname(path), text(source))) : undefined;
}

/** The names of the values that a statement exports. */
function valuesIn(statement: Node): string[] {
  if (statement.type !== "ExportNamedDeclaration" || statement["exportKind"] === "type") return [];
  const declaration = statement["declaration"] as Node | null;
  if (declaration === null)
    return partsOf(statement)
      .filter((part) => part["exportKind"] !== "type")
      .map((part) => text(part["exported"]));
  if (declaration.type === "VariableDeclaration")
    return (declaration["declarations"] as readonly Node[]).map((each) => text(each["id"]));
  return declaration.type.startsWith("TS") ? [] : [text(declaration["id"])];
}

const imported = new Set(
  sourcePaths.flatMap((path) => {
    const whole = [...readSource(path).text.matchAll(/import\("(\.[^"]+)"\)/g)];
    return [
      ...whole.map(([, source = ""]) => `${normalize(join(dirname(path), source))} *`),
      ...statementsOf(path).flatMap((statement) => {
        const source = sourceOf(path, statement);
        if (source === undefined) return [];
        return partsOf(statement).map((part) => `${source} ${part["imported"] ? text(part["imported"]) : "*"}`);
      }),
    ];
  }),
);

const exported = sourcePaths.flatMap((path) =>
  statementsOf(path)
    .flatMap(valuesIn)
    .map((name) => ({ path, name })),
);

it("every export is imported by another file of src, or is listed as exported for tests", () => {
  const unused = exported.filter(({ path, name }) => !imported.has(`${path} ${name}`) && !imported.has(`${path} *`));
  expect(unused.map(({ path, name }) => `${path} ${name}`).filter((each) => !forTests.has(each))).toEqual([]);
  expect(
    [...forTests].filter((each) => imported.has(each)),
    "not only for tests any more",
  ).toEqual([]);
});

/** The files whose values a statement re-exports. */
function reexportedFiles(path: string, statement: Node, imports: ReadonlyMap<string, string>): string[] {
  if (statement.type !== "ExportAllDeclaration" && statement.type !== "ExportNamedDeclaration") return [];
  const source = sourceOf(path, statement);
  if (source !== undefined) return [source];
  return partsOf(statement).flatMap((part) => imports.get(text(part["local"])) ?? []);
}

it("no file re-exports another's values, except those of its own resource's private store", () => {
  const found = sourcePaths.flatMap((path) => {
    const statements = statementsOf(path);
    const imports = new Map(
      statements
        .filter(({ type }) => type === "ImportDeclaration")
        .flatMap((each) => partsOf(each).map((part) => [text(part["local"]), sourceOf(path, each) ?? ""] as const)),
    );
    const reexports = statements.map((statement) => reexportedFiles(path, statement, imports));
    const hasOnlyReexports = statements.every(
      ({ type }, at) => type === "ImportDeclaration" || reexports[at]!.length > 0,
    );
    const store = join(dirname(path), "store.ts");
    return reexports
      .flat()
      .filter((source) => hasOnlyReexports || source !== store)
      .map((source) => ({ path, source }));
  });
  expect(found.map(({ path, source }) => `${path} ← ${source}`)).toEqual([]);
});
