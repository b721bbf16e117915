/**
 * Whatever changes a table asks for the proof that its caller may: a parameter of type `Granted<…, …>` that names the
 * permissions which let it write. `string` names none, and a permission to read lets nobody write.
 */
import { describe, expect, it } from "vitest";
import {
  functionsOf,
  type Node,
  parsed,
  readSource,
  type SourceFile,
  type SourceFunction,
  sourcePaths,
  within,
  writesIn,
} from "./support/code.ts";

/** Why a function needs none, and those that do not for this reason. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "counters and versions that follow from a change which was granted, in its transaction": [
    "resources/identity/organization-memberships/writes.ts incrementMembershipVersions",
    "resources/identity/organizations/writes.ts markOperationsAvailable",
    "resources/register/projects/writes.ts adjustTeamCount",
    "resources/register/tags/store.ts incrementTagCounts",
    "resources/register/tags/store.ts recountTags",
  ],
  "what else goes, or changes, with a thing whose removal or change was granted, in its transaction": [
    "resources/connections/notification-configurations/writes.ts mergeInvitedRecipients",
    "resources/identity/organization-memberships/writes.ts activateInvitations",
    "resources/identity/organization-memberships/writes.ts moveMembershipsToAddress",
    "resources/identity/teams/writes.ts activateTeamMemberships",
    "resources/identity/teams/writes.ts removeEndedMembershipsOf",
    "resources/identity/teams/writes.ts transferTeamMemberships",
    "resources/register/workspaces/writes.ts rewriteTagNames",
  ],
  "a state's content, which comes by a signed URL of a version whose creation was granted": [
    "resources/shared/contents/store.ts appendChunk",
    "resources/shared/contents/store.ts beginContent",
    "resources/shared/contents/store.ts completeContent",
    "resources/shared/contents/store.ts insertContents",
    "resources/shared/contents/store.ts orphanContent",
  ],
  "what an agent reports of a phase that it holds, whose run was granted": [
    "resources/runs/phases/store.ts insertChunks",
    "resources/runs/phases/store.ts insertLogChunks",
  ],
  "the keys of the service itself, in which no caller has a part": [
    "resources/runs/identity-keys/store.ts deleteKeys",
    "resources/runs/identity-keys/store.ts insertKey",
  ],
  "what is remembered of somebody who is nobody yet, so that it can't be used again": [
    "resources/identity/sso-providers/store.ts recordCallback",
  ],
  "background work, which nobody asked for": [
    "resources/identity/authentication-tokens/writes.ts recordTokenUses",
    "resources/connections/agent-tokens/writes.ts recordAgentTokenUses",
    "resources/shared/contents/store.ts abandonContents",
  ],
  "what somebody is told of a change which was granted, in its transaction": [
    "resources/shared/outbox/store.ts insertForSubscribers",
    "resources/shared/outbox/store.ts insertNotifications",
  ],
  "the helper by which others write, who are looked at themselves": [
    "resources/shared/versions.ts updateRow",
    "resources/shared/versions.ts updateRows",
  ],
  "the trail of every change": ["resources/shared/audit-events/writes.ts recordEvents"],
};
const excused: readonly string[] = Object.values(reasons).flat();

/** Functions that should ask for one and do not yet. This list only shrinks. */
const withoutToday: readonly string[] = [];

type Types = ReadonlyMap<string, Node>;

/** The types that a file declares, by their names; what they stand for is looked into. */
function typesOf({ program }: SourceFile): [string, Node][] {
  return within(program)
    .filter(({ type }) => type === "TSTypeAliasDeclaration" || type === "TSInterfaceDeclaration")
    .map((node) => [String((node["id"] as Node)["name"]), node]);
}

const nameOf = (node: Node): string | undefined =>
  node.type === "TSTypeReference" ? String((node["typeName"] as Node)["name"]) : undefined;

const isCallable = ({ type }: Node) => type === "TSFunctionType" || type === "TSMethodSignature";

/** What is written as a type, with the types that it names, each looked into once. What a function would take or give is none. */
function* reaching(node: Node, types: Types, seen: Set<string> = new Set()): Generator<Node> {
  for (const part of within(node, isCallable)) {
    yield part;
    const name = nameOf(part);
    const declared = name === undefined || seen.has(name) ? undefined : types.get(name);
    if (name === undefined || declared === undefined) continue;
    seen.add(name);
    yield* reaching(declared, types, seen);
  }
}

/** The permissions that a `Granted<Row, Permission>` names; none for `string`, or for whatever the caller likes. */
function permissionsOf(permission: Node, types: Types): string[] {
  return [...reaching(permission, types)].flatMap((part) => {
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

/** Whether nothing fits this type but a proof, or what holds one: of a union each member, of an object one of its members. */
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

const asks = ({ parameters }: SourceFunction, types: Types): boolean =>
  parameters.some((parameter) => isProof(parameter, types));

/** The exported functions of a file that change a table, by themselves or by others of the file that are not exported. */
function writersOf(file: SourceFile): SourceFunction[] {
  const functions = functionsOf(file);
  const hidden = new Map(functions.filter(({ isExported }) => !isExported).map((each) => [each.name, each]));
  const writes = (node: Node, seen: readonly string[] = []): boolean =>
    writesIn(node).length > 0 ||
    within(node).some((part) => {
      const name = part.type === "Identifier" ? String(part["name"]) : "";
      const called = seen.includes(name) ? undefined : hidden.get(name);
      return called !== undefined && writes(called.node, [...seen, name]);
    });
  return functions.filter(({ isExported, node }) => isExported && writes(node));
}

const types: Types = new Map(sourcePaths.flatMap((path) => typesOf(readSource(path))));

/** The types that a file can name: its own before another's of the same name. */
const typesIn = (file: SourceFile): Types => new Map([...types, ...typesOf(file)]);

/** Nothing but strings that are spelled out. */
function isWord(node: Node, known: Types): boolean {
  if (node.type === "TSLiteralType") return typeof (node["literal"] as Node)["value"] === "string";
  if (node.type === "TSUnionType") return (node["types"] as readonly Node[]).every((part) => isWord(part, known));
  const alias = known.get(nameOf(node) ?? "");
  return alias?.type === "TSTypeAliasDeclaration" && isWord(alias["typeAnnotation"] as Node, known);
}

/** What could stand in a proof's place: a word beside it in a union, or one that is only passed to say who does it. */
function wordsForProofs(file: SourceFile, known: Types): string[] {
  const nodes = within(file.program);
  const unions = nodes.filter(({ type, types: members }) => {
    const all = type === "TSUnionType" ? (members as readonly Node[]) : [];
    return all.some((member) => isWord(member, known)) && all.some((member) => isProof(member, known));
  });
  const unused = nodes
    .filter(({ type, name }) => type === "Identifier" && String(name).startsWith("_"))
    .map((node) => (node["typeAnnotation"] as Node | null | undefined)?.["typeAnnotation"] as Node | undefined)
    .filter((type) => type !== undefined && isWord(type, known)) as Node[];
  return [...unions, ...unused].map(({ start, end }) => `${file.path} ${file.text.slice(start, end)}`);
}

/** Where a type is asserted that is a proof, or holds one. */
const castsIn = (file: SourceFile, known: Types): string[] =>
  within(file.program)
    .filter(({ type }) => type === "TSAsExpression" || type === "TSTypeAssertion")
    .map((node) => node["typeAnnotation"] as Node)
    .filter((node) =>
      [node, ...((node["types"] as readonly Node[] | undefined) ?? [])].some((part) => isCast(part, known)),
    )
    .map(({ start, end }) => `${file.path} as ${file.text.slice(start, end)}`);

/** Not what an asserted type merely mentions: an alias of a proof is one, a view with a member that is one is not. */
function isCast(node: Node, known: Types): boolean {
  const name = nameOf(node);
  const alias = name === undefined ? undefined : known.get(name);
  if (isProofName(name)) return true;
  return alias?.type === "TSTypeAliasDeclaration" && isCast(alias["typeAnnotation"] as Node, known);
}

function withoutProof(file: SourceFile, known: Types): string[] {
  return writersOf(file)
    .filter((writer) => !asks(writer, known))
    .map(({ name }) => `${file.path} ${name}`);
}

describe("the functions that change a table", () => {
  const found = sourcePaths
    .filter((path) => path.startsWith("resources/"))
    .map(readSource)
    .flatMap((file) => withoutProof(file, typesIn(file)))
    .toSorted();

  it("ask for a proof that names its permissions, or need none for a reason", () => {
    expect(found.filter((name) => !excused.includes(name))).toEqual(withoutToday);
  });

  it("ask for one, but for at most 30", () => {
    expect(excused).toHaveLength(30);
  });

  it("need none for a reason only where they ask for none", () => {
    expect(excused.filter((name) => !found.includes(name))).toEqual([]);
  });

  it("and all others take no word in a proof's place", () => {
    expect(sourcePaths.map(readSource).flatMap((file) => wordsForProofs(file, typesIn(file)))).toEqual([]);
  });

  it("get proofs that were checked: nobody else asserts that a row is granted", () => {
    const casts = sourcePaths.map(readSource).flatMap((file) => castsIn(file, typesIn(file)));
    expect(casts).toEqual([
      "access/capability.ts as Granted<Row, Name>",
      "access/granted.ts as Granted<Row, Permission>",
      "access/granted.ts as Granted<Row, Permission>",
    ]);
  });

  it("get capabilities from their issuers alone", () => {
    const issuers = sourcePaths.flatMap((path) =>
      [...readSource(path).text.matchAll(/Capability\s*\.\s*issuer\(([^)]*)\)/g)].map(([, name]) => `${path} ${name}`),
    );
    expect(issuers).toEqual([
      'jobs/run.ts "job"',
      'moving/importing/importer.ts "import"',
      'resources/identity/organizations/operations.ts "new-organization"',
      'resources/runs/phases/claims.ts "claim"',
      'resources/runs/runs/transaction.ts "run-transition"',
      'resources/vcs/vcs-events/receipt.ts "webhook"',
    ]);
  });

  it("demand the decision until when it may work, where they store a credential", () => {
    const tables = "tokens|agentTokens|identityTrusts|invitations";
    const storing = new RegExp(`(?:insertInto\\(|(?:insertRow|updateRow)\\(\\w+, )"(?:${tables})"`);
    const isTerm = (node: Node) => nameOf(node) === "CredentialTerm";
    const storers = sourcePaths.flatMap((path) => {
      const file = readSource(path);
      return functionsOf(file)
        .filter(({ node }) => storing.test(file.text.slice(node.start, node.end)))
        .map(({ name, parameters }) => ({ name, asks: parameters.some((each) => within(each).some(isTerm)) }));
    });
    expect(storers.filter(({ asks: isAsked }) => !isAsked)).toEqual([]);
    expect(storers.map(({ name }) => name).toSorted()).toEqual([
      "insertAgentToken",
      "insertIdentityTrust",
      "insertInvitation",
      "insertToken",
      "updateIdentityTrustRow",
    ]);
  });

  it.each([
    ["a proof or a word", 'function f(by: Granted<View, "can-a"> | "a job") {}', ['Granted<View, "can-a"> | "a job"']],
    [
      "a word under another name",
      'type By = Capability<"job"> | Word; type Word = "a" | "b";',
      ['Capability<"job"> | Word'],
    ],
    ["a word for a proof", 'export function f(_by: "a job") {}', ['"a job"']],
    ["a proof", 'function f(by: Granted<View, "can-a" | "can-b"> | Capability<"job">) {}', []],
    ["a word for something else", 'export function f(by: Capability<"job">, kind: "a" | "b") {}', []],
  ])("are judged right: what takes %s", (_, code, found) => {
    const file = parsed("a.ts", code);
    expect(wordsForProofs(file, new Map(typesOf(file)))).toEqual(found.map((text) => `a.ts ${text}`));
  });

  it("are judged right: a row that is said to be granted", () => {
    const code =
      'type Mine = Granted<View, "a">; export const f = [row as Mine, row as View, row as Mine | undefined];';
    const file = parsed("a.ts", code);
    expect(castsIn(file, new Map(typesOf(file)))).toEqual(["a.ts as Mine", "a.ts as Mine | undefined"]);
  });

  const writing = 'Promise<void> { await tx.db.updateTable("workspaces").set({}).execute(); }';
  it.each([
    ["no proof", `export async function f(tx: Tx, id: string): ${writing}`, false],
    [
      "a proof or a word",
      `export async function f(tx: Tx, w: Granted<View, "can-update"> | "a job"): ${writing}`,
      false,
    ],
    ["a word", `export async function f(tx: Tx, by: "a job"): ${writing}`, false],
    [
      "a proof or a word, under another name",
      `type By = Granted<View, "can-update"> | Job; type Job = "a job"; export async function f(tx: Tx, by: By): ${writing}`,
      false,
    ],
    [
      "a proof or none",
      `export async function f(tx: Tx, w: Granted<View, "can-update"> | undefined): ${writing}`,
      false,
    ],
    [
      "a proof that may be left out",
      `export async function f(tx: Tx, w?: Granted<View, "can-update">): ${writing}`,
      false,
    ],
    ["any capability", `export async function f(tx: Tx, by: Capability<CapabilityName>): ${writing}`, false],
    [
      "a proof or a capability",
      `export async function f(tx: Tx, by: Granted<View, "can-update"> | Capability<"job">): ${writing}`,
      true,
    ],
    ["any proof", `export async function f(tx: Tx, w: Granted<View, string>): ${writing}`, false],
    [
      "whatever proof the caller has",
      `export async function f<Name extends string>(tx: Tx, w: Granted<View, Name>): ${writing}`,
      false,
    ],
    ["a proof of reading", `export async function f(tx: Tx, w: Granted<View, "can-read-settings">): ${writing}`, false],
    ["a proof", `export async function f(tx: Tx, w: Granted<View, "can-update">): ${writing}`, true],
    ["a proof of one of two", `export async function f(tx: Tx, w: Granted<View, "can-a" | "can-b">): ${writing}`, true],
    ["proofs", `export async function f(tx: Tx, all: readonly Granted<View, "can-update">[]): ${writing}`, true],
    [
      "a proof under another name",
      `type Name = "can-update"; type Mine = { thing: Granted<View, Name> }; export async function f(tx: Tx, { thing }: Mine): ${writing}`,
      true,
    ],
    [
      "no proof, through another function",
      `export const f = (tx: Tx) => g(tx); async function g(tx: Tx): ${writing}`,
      false,
    ],
    [
      "a function that gives one",
      `export async function f(tx: Tx, by: () => Granted<View, "can-update">): ${writing}`,
      false,
    ],
    ["nothing, and changes nothing", 'export const f = (tx: Tx) => tx.db.selectFrom("workspaces")', true],
    ["nothing, and is nobody else's", `async function f(tx: Tx): ${writing}`, true],
  ])("are judged right: one that asks for %s", (_, code, isRight) => {
    const file = parsed("a.ts", code);
    expect(withoutProof(file, new Map(typesOf(file)))).toEqual(isRight ? [] : ["a.ts f"]);
  });
});
