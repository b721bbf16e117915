/** Parses the code of `src`: its functions, and the statements in them that change a table. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { camel } from "../../src/kernel/names.ts";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [name: string]: unknown;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly program: Node;
}

export const sourcePaths: readonly string[] = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => path.split(sep).join("/"))
  .toSorted();

export const parseSource = (path: string, text: string): SourceFile => ({
  path,
  text,
  program: parseAst(text, { lang: "ts" }) as unknown as Node,
});

/** Shared by the test files of a worker. */
const read = new Map<string, SourceFile>();
export function readSource(path: string): SourceFile {
  const file = read.get(path) ?? parseSource(path, readFileSync(join("src", path), "utf8"));
  read.set(path, file);
  return file;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

export function nodesWithin(node: Node, isSkipped: (node: Node) => boolean = () => false): Node[] {
  const found: Node[] = [];
  const add = (each: Node) => {
    if (isSkipped(each)) return;
    found.push(each);
    for (const name in each) {
      const value = each[name];
      if (Array.isArray(value)) {
        for (const child of value) if (isNode(child)) add(child);
      } else if (isNode(value)) add(value);
    }
  };
  add(node);
  return found;
}

export interface Write {
  /** Undefined if the table is computed at run time. */
  readonly table: string | undefined;
}

const builders = new Set(["insertInto", "updateTable", "deleteFrom", "mergeInto", "replaceInto"]);
const computed = "\u0000";
/** Excludes clauses such as `for update of …` and `do update set …`. */
const statements = new RegExp(
  `\\b(?:(?:insert|merge|replace)\\s+into|delete\\s+from|truncate\\s+table|update(?=\\s+\\S+\\s+(?:as\\s+\\S+\\s+)?set\\b))\\s+("?)([a-z_]+|${computed})\\1`,
  "gi",
);

/** Their second argument is the table. */
const helpers = ["updateRow", "insertRow"];

export function writesIn(node: Node): Write[] {
  return nodesWithin(node).flatMap((part) => {
    if (part.type === "CallExpression") return builtBy(part);
    const text = textOf(part);
    if (text === undefined) return [];
    return [...text.matchAll(statements)].map(([, , table = ""]) => ({
      table: table === computed ? undefined : camel(table.toLowerCase()),
    }));
  });
}

function builtBy(call: Node): Write[] {
  const callee = call["callee"] as Node;
  const [first, second] = call["arguments"] as readonly Node[];
  const isHelper = callee.type === "Identifier" && helpers.includes(String(callee["name"]));
  const isBuilder = callee.type === "MemberExpression" && builders.has(String((callee["property"] as Node)["name"]));
  if (!isHelper && !isBuilder) return [];
  const table = isHelper ? second : first;
  const name = table?.type === "Literal" ? String(table["value"]).split(" ")[0] : undefined;
  return [{ table: name }];
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type !== "TemplateLiteral") return undefined;
  return (node["quasis"] as readonly Node[])
    .map((quasi) => (quasi["value"] as { readonly raw: string }).raw)
    .join(computed);
}

export interface SourceFunction {
  readonly name: string;
  readonly isExported: boolean;
  readonly node: Node;
  readonly parameters: readonly Node[];
}

export function functionsOf({ program }: SourceFile): SourceFunction[] {
  return (program["body"] as readonly Node[]).flatMap((statement) => {
    const isExported = statement.type === "ExportNamedDeclaration";
    const declaration = (isExported ? statement["declaration"] : statement) as Node | null;
    if (declaration?.type === "FunctionDeclaration") return [functionOf(declaration, declaration, isExported)];
    if (declaration?.type !== "VariableDeclaration") return [];
    return (declaration["declarations"] as readonly Node[])
      .filter((variable) => (variable["init"] as Node | null) !== null)
      .map((variable) => functionOf(variable, variable["init"] as Node, isExported));
  });
}

/** A constant without a function, such as a prepared statement, counts as a function without parameters. */
function functionOf(named: Node, node: Node, isExported: boolean): SourceFunction {
  const parameters = (node["params"] as readonly Node[] | undefined) ?? [];
  return { name: String((named["id"] as Node)["name"]), isExported, node, parameters };
}
