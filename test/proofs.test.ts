/**
 * Every function that changes a table requires proof of permission: a parameter of type `Granted<…, …>` that names the permissions
 * to write, or a `Capability`. `string` names no permission, and a permission to read is not enough.
 */
import { describe, expect, it } from "vitest";
import {
  functionsOf,
  type Node,
  parseSource,
  readSource,
  type SourceFile,
  type SourceFunction,
  sourcePaths,
  nodesWithin,
  writesIn,
} from "./support/code.ts";

/** Functions that need no proof, by reason. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "updates counters and versions in the transaction of a permitted change": [
    "resources/identity/organization-memberships/writes.ts incrementMembershipVersions",
    "resources/identity/organizations/writes.ts markOperationsAvailable",
    "resources/register/projects/writes.ts adjustTeamCount",
    "resources/register/tags/store.ts incrementTagCounts",
    "resources/register/tags/store.ts recountTags",
  ],
  "changes dependent rows in the transaction of a permitted change": [
    "resources/connections/notification-configurations/writes.ts mergeInvitedRecipients",
    "resources/identity/organization-memberships/writes.ts activateInvitations",
    "resources/identity/organization-memberships/writes.ts moveMembershipsToAddress",
    "resources/identity/teams/writes.ts activateTeamMemberships",
    "resources/identity/teams/store.ts deleteInvitedSeats",
    "resources/identity/teams/writes.ts removeEndedMembershipsOf",
    "resources/identity/teams/writes.ts transferTeamMemberships",
    "resources/register/workspaces/writes.ts rewriteTagNames",
  ],
  "stores the content of a version whose creation was permitted, uploaded by a signed URL": [
    "resources/shared/contents/store.ts appendChunk",
    "resources/shared/contents/store.ts beginContent",
    "resources/shared/contents/store.ts completeContent",
    "resources/shared/contents/store.ts insertContents",
    "resources/shared/contents/store.ts orphanContent",
    "resources/shared/contents/store.ts orphanUpload",
    "resources/shared/contents/store.ts touchContent",
    "resources/shared/contents/unattached-objects.ts announceObjects",
    "resources/shared/contents/unattached-objects.ts attachObjects",
    "resources/shared/contents/unattached-objects.ts detachObject",
    "resources/shared/contents/unattached-objects.ts discardObject",
    "resources/shared/contents/unattached-objects.ts touchObject",
  ],
  "stores an agent's report on a phase that it has claimed": [
    "resources/runs/phases/store.ts insertChunks",
    "resources/runs/phases/store.ts insertLogChunks",
  ],
  "manages the server's own keys": [
    "resources/runs/identity-keys/store.ts deleteKeys",
    "resources/runs/identity-keys/store.ts insertKey",
  ],
  "records a callback before sign-in, so that it can't be replayed": [
    "resources/identity/sso-providers/store.ts recordCallback",
  ],
  "moves bytes on the operator's command, without changing what they say": [
    "resources/shared/contents/relocation-store.ts addChunks",
    "resources/shared/contents/relocation-store.ts beginChunks",
    "resources/shared/contents/relocation-store.ts discardChunks",
    "resources/shared/contents/relocation-store.ts renamePlaces",
    "resources/shared/contents/relocation-store.ts switchToDatabase",
    "resources/shared/contents/relocation-store.ts switchToObject",
  ],
  "background work without a caller": [
    "resources/identity/authentication-tokens/writes.ts recordTokenUses",
    "resources/connections/agent-tokens/writes.ts recordAgentTokenUses",
    "resources/shared/contents/store.ts abandonContents",
  ],
  "enqueues notifications in the transaction of a permitted change": [
    "resources/shared/outbox/store.ts insertForSubscribers",
    "resources/shared/outbox/store.ts insertNotifications",
  ],
  "a helper whose callers are checked": [
    "resources/shared/versions.ts updateRow",
    "resources/shared/versions.ts updateRows",
  ],
  "the audit log itself": ["resources/shared/audit-events/writes.ts recordEvents"],
};
const listed: readonly string[] = Object.values(reasons).flat();

/** Functions that should require proof but do not yet. This list may only shrink. */
const knownViolations: readonly string[] = [];

type Types = ReadonlyMap<string, Node>;

/** The types that a file declares, by name. */
function typesOf({ program }: SourceFile): [string, Node][] {
  return nodesWithin(program)
    .filter(({ type }) => type === "TSTypeAliasDeclaration" || type === "TSInterfaceDeclaration")
    .map((node) => [String((node["id"] as Node)["name"]), node]);
}

const nameOf = (node: Node): string | undefined =>
  node.type === "TSTypeReference" ? String((node["typeName"] as Node)["name"]) : undefined;

const isCallable = ({ type }: Node) => type === "TSFunctionType" || type === "TSMethodSignature";

/** The nodes of a type, and of the types that it names, each once. Parameters and results of functions are skipped. */
function* nodesOfType(node: Node, types: Types, seen: Set<string> = new Set()): Generator<Node> {
  for (const part of nodesWithin(node, isCallable)) {
    yield part;
    const name = nameOf(part);
    const declared = name === undefined || seen.has(name) ? undefined : types.get(name);
    if (name === undefined || declared === undefined) continue;
    seen.add(name);
    yield* nodesOfType(declared, types, seen);
  }
}

/** The permissions that a `Granted<Row, Permission>` names; none for `string` or a type parameter. */
function permissionsOf(permission: Node, types: Types): string[] {
  return [...nodesOfType(permission, types)].flatMap((part) => {
    const literal = part.type === "TSLiteralType" ? (part["literal"] as Node)["value"] : undefined;
    return typeof literal === "string" ? [literal] : [];
  });
}

const isProofName = (name: string | undefined): boolean => name === "Granted" || name === "Capability";

/** A permission to write, or a capability. `string` names neither. */
function isNamedProof(node: Node, types: Types): boolean {
  const [row, permission] = (node["typeArguments"] as { readonly params: readonly Node[] }).params;
  const named = nameOf(node) === "Capability" ? row : permission;
  const names = named === undefined ? [] : permissionsOf(named, types);
  return names.length > 0 && !names.some((name) => name.startsWith("can-read"));
}

/** Whether every value of this type is or contains a proof: each member of a union, or one property of an object. */
function isProof(node: Node | undefined, types: Types, seen: readonly string[] = []): boolean {
  const all = (parts: unknown) => (parts as readonly Node[]).map((part) => isProof(part, types, seen));
  switch (node?.type) {
    case "TSUnionType":
      return all(node["types"]).every(Boolean);
    case "TSIntersectionType":
      return all(node["types"]).some(Boolean);
    case "TSTypeLiteral":
      return all(node["members"]).some(Boolean);
    case "TSInterfaceBody":
      return all(node["body"]).some(Boolean);
    case "TSArrayType":
      return isProof(node["elementType"] as Node, types, seen);
    case "TSInterfaceDeclaration":
      return isProof(node["body"] as Node, types, seen);
    case "TSTypeAnnotation":
    case "TSTypeOperator":
    case "TSParenthesizedType":
    case "TSTypeAliasDeclaration":
    case "TSPropertySignature":
    case "Identifier":
    case "ObjectPattern":
      return node["optional"] !== true && isProof((node["typeAnnotation"] as Node | null) ?? undefined, types, seen);
    case "TSTypeReference": {
      const name = nameOf(node) ?? "";
      if (isProofName(name)) return isNamedProof(node, types);
      return !seen.includes(name) && isProof(types.get(name), types, [...seen, name]);
    }
    default:
      return false;
  }
}

const requiresProof = ({ parameters }: SourceFunction, types: Types): boolean =>
  parameters.some((parameter) => isProof(parameter, types));

/** The exported functions of a file that change a table, directly or through unexported functions of the file. */
function writersOf(file: SourceFile): SourceFunction[] {
  const functions = functionsOf(file);
  const hidden = new Map(functions.filter(({ isExported }) => !isExported).map((each) => [each.name, each]));
  const writes = (node: Node, seen: readonly string[] = []): boolean =>
    writesIn(node).length > 0 ||
    nodesWithin(node).some((part) => {
      const name = part.type === "Identifier" ? String(part["name"]) : "";
      const called = seen.includes(name) ? undefined : hidden.get(name);
      return called !== undefined && writes(called.node, [...seen, name]);
    });
  return functions.filter(({ isExported, node }) => isExported && writes(node));
}

const types: Types = new Map(sourcePaths.flatMap((path) => typesOf(readSource(path))));

/** The types that a file can name. Its own take precedence. */
const typesIn = (file: SourceFile): Types => new Map([...types, ...typesOf(file)]);

/** Whether a type consists of string literals only. */
function isStringLiteral(node: Node, known: Types): boolean {
  if (node.type === "TSLiteralType") return typeof (node["literal"] as Node)["value"] === "string";
  if (node.type === "TSUnionType")
    return (node["types"] as readonly Node[]).every((part) => isStringLiteral(part, known));
  const alias = known.get(nameOf(node) ?? "");
  return alias?.type === "TSTypeAliasDeclaration" && isStringLiteral(alias["typeAnnotation"] as Node, known);
}

/** String literals that could replace a proof: in a union with one, or as the type of an unused parameter. */
function literalsForProofs(file: SourceFile, known: Types): string[] {
  const nodes = nodesWithin(file.program);
  const unions = nodes.filter(({ type, types: members }) => {
    const all = type === "TSUnionType" ? (members as readonly Node[]) : [];
    return all.some((member) => isStringLiteral(member, known)) && all.some((member) => isProof(member, known));
  });
  const unused = nodes
    .filter(({ type, name }) => type === "Identifier" && String(name).startsWith("_"))
    .map((node) => (node["typeAnnotation"] as Node | null | undefined)?.["typeAnnotation"] as Node | undefined)
    .filter((type) => type !== undefined && isStringLiteral(type, known)) as Node[];
  return [...unions, ...unused].map(({ start, end }) => `${file.path} ${file.text.slice(start, end)}`);
}

/** Type assertions to a proof. */
const castsIn = (file: SourceFile, known: Types): string[] =>
  nodesWithin(file.program)
    .filter(({ type }) => type === "TSAsExpression" || type === "TSTypeAssertion")
    .map((node) => node["typeAnnotation"] as Node)
    .filter((node) =>
      [node, ...((node["types"] as readonly Node[] | undefined) ?? [])].some((part) => isCast(part, known)),
    )
    .map(({ start, end }) => `${file.path} as ${file.text.slice(start, end)}`);

/** Whether a type is a proof or an alias of one. A type that only contains a proof does not count. */
function isCast(node: Node, known: Types): boolean {
  const name = nameOf(node);
  const alias = name === undefined ? undefined : known.get(name);
  if (isProofName(name)) return true;
  return alias?.type === "TSTypeAliasDeclaration" && isCast(alias["typeAnnotation"] as Node, known);
}

function withoutProof(file: SourceFile, known: Types): string[] {
  return writersOf(file)
    .filter((writer) => !requiresProof(writer, known))
    .map(({ name }) => `${file.path} ${name}`);
}

describe("the functions that change a table", () => {
  const found = sourcePaths
    .filter((path) => path.startsWith("resources/"))
    .map(readSource)
    .flatMap((file) => withoutProof(file, typesIn(file)))
    .toSorted();

  it("require a proof that names permissions, or are listed with a reason", () => {
    expect(found.filter((name) => !listed.includes(name))).toEqual(knownViolations);
  });

  it("have 44 listed exceptions", () => {
    expect(listed).toHaveLength(44);
  });

  it("are listed only if they require no proof", () => {
    expect(listed.filter((name) => !found.includes(name))).toEqual([]);
  });

  it("accept no string literal instead of a proof, like all others", () => {
    expect(sourcePaths.map(readSource).flatMap((file) => literalsForProofs(file, typesIn(file)))).toEqual([]);
  });

  it("get checked proofs: only the access module casts to one", () => {
    const casts = sourcePaths.map(readSource).flatMap((file) => castsIn(file, typesIn(file)));
    expect(casts).toEqual([
      "access/capability.ts as Granted<Row, Name>",
      "access/granted.ts as Granted<Row, Permission>",
      "access/granted.ts as Granted<Row, Permission>",
    ]);
  });

  it("get capabilities only from their issuers", () => {
    const issuers = sourcePaths.flatMap((path) =>
      [...readSource(path).text.matchAll(/Capability\s*\.\s*issuer\(([^)]*)\)/g)].map(([, name]) => `${path} ${name}`),
    );
    expect(issuers).toEqual([
      'jobs/run.ts "job"',
      'moving/importing/importer.ts "import"',
      'resources/identity/organizations/operations.ts "new-organization"',
      'resources/runs/phases/claims.ts "claim"',
      'resources/runs/runs/transition-recorder.ts "run-transition"',
      'resources/vcs/vcs-events/receipt.ts "webhook"',
    ]);
  });

  it("require a CredentialTerm if they store a credential", () => {
    const tables = "tokens|agentTokens|identityTrusts|invitations";
    const storing = new RegExp(`(?:insertInto\\(|(?:insertRow|updateRow)\\(\\w+, )"(?:${tables})"`);
    const isTerm = (node: Node) => nameOf(node) === "CredentialTerm";
    const storers = sourcePaths.flatMap((path) => {
      const file = readSource(path);
      return functionsOf(file)
        .filter(({ node }) => storing.test(file.text.slice(node.start, node.end)))
        .map(({ name, parameters }) => ({
          name,
          takesTerm: parameters.some((each) => nodesWithin(each).some(isTerm)),
        }));
    });
    expect(storers.filter(({ takesTerm }) => !takesTerm)).toEqual([]);
    expect(storers.map(({ name }) => name).toSorted()).toEqual([
      "insertAgentToken",
      "insertIdentityTrust",
      "insertInvitation",
      "insertToken",
      "updateIdentityTrustRow",
    ]);
  });

  it.each([
    [
      "a proof or a string literal",
      'function f(by: Granted<View, "can-a"> | "a job") {}',
      ['Granted<View, "can-a"> | "a job"'],
    ],
    [
      "an aliased string literal",
      'type By = Capability<"job"> | Word; type Word = "a" | "b";',
      ['Capability<"job"> | Word'],
    ],
    ["a string literal instead of a proof", 'export function f(_by: "a job") {}', ['"a job"']],
    ["a proof", 'function f(by: Granted<View, "can-a" | "can-b"> | Capability<"job">) {}', []],
    ["a string literal for another purpose", 'export function f(by: Capability<"job">, kind: "a" | "b") {}', []],
  ])("are classified correctly: a parameter with %s", (_, code, found) => {
    const file = parseSource("a.ts", code);
    expect(literalsForProofs(file, new Map(typesOf(file)))).toEqual(found.map((text) => `a.ts ${text}`));
  });

  it("are classified correctly: a cast to a proof", () => {
    const code =
      'type Mine = Granted<View, "a">; export const f = [row as Mine, row as View, row as Mine | undefined];';
    const file = parseSource("a.ts", code);
    expect(castsIn(file, new Map(typesOf(file)))).toEqual(["a.ts as Mine", "a.ts as Mine | undefined"]);
  });

  const writing = 'Promise<void> { await tx.db.updateTable("workspaces").set({}).execute(); }';
  it.each([
    ["no proof", `export async function f(tx: Tx, id: string): ${writing}`, false],
    [
      "a proof or a string literal",
      `export async function f(tx: Tx, w: Granted<View, "can-update"> | "a job"): ${writing}`,
      false,
    ],
    ["a string literal", `export async function f(tx: Tx, by: "a job"): ${writing}`, false],
    [
      "an alias of a proof or a string literal",
      `type By = Granted<View, "can-update"> | Job; type Job = "a job"; export async function f(tx: Tx, by: By): ${writing}`,
      false,
    ],
    [
      "a proof or none",
      `export async function f(tx: Tx, w: Granted<View, "can-update"> | undefined): ${writing}`,
      false,
    ],
    ["an optional proof", `export async function f(tx: Tx, w?: Granted<View, "can-update">): ${writing}`, false],
    ["any capability", `export async function f(tx: Tx, by: Capability<CapabilityName>): ${writing}`, false],
    [
      "a proof or a capability",
      `export async function f(tx: Tx, by: Granted<View, "can-update"> | Capability<"job">): ${writing}`,
      true,
    ],
    ["any proof", `export async function f(tx: Tx, w: Granted<View, string>): ${writing}`, false],
    [
      "a proof with a type parameter",
      `export async function f<Name extends string>(tx: Tx, w: Granted<View, Name>): ${writing}`,
      false,
    ],
    ["a proof of reading", `export async function f(tx: Tx, w: Granted<View, "can-read-settings">): ${writing}`, false],
    ["a proof", `export async function f(tx: Tx, w: Granted<View, "can-update">): ${writing}`, true],
    ["a proof of one of two", `export async function f(tx: Tx, w: Granted<View, "can-a" | "can-b">): ${writing}`, true],
    ["proofs", `export async function f(tx: Tx, all: readonly Granted<View, "can-update">[]): ${writing}`, true],
    [
      "an alias of a proof",
      `type Name = "can-update"; type Mine = { thing: Granted<View, Name> }; export async function f(tx: Tx, { thing }: Mine): ${writing}`,
      true,
    ],
    [
      "no proof, through another function",
      `export const f = (tx: Tx) => g(tx); async function g(tx: Tx): ${writing}`,
      false,
    ],
    [
      "a function that returns one",
      `export async function f(tx: Tx, by: () => Granted<View, "can-update">): ${writing}`,
      false,
    ],
    ["nothing, and changes no table", 'export const f = (tx: Tx) => tx.db.selectFrom("workspaces")', true],
    ["nothing, and is not exported", `async function f(tx: Tx): ${writing}`, true],
  ])("are classified correctly: one that requires %s", (_, code, isAccepted) => {
    const file = parseSource("a.ts", code);
    expect(withoutProof(file, new Map(typesOf(file)))).toEqual(isAccepted ? [] : ["a.ts f"]);
  });
});
