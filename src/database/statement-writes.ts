/** Reads from a compiled statement which tables it writes, and by which values it identifies rows. */
import type { CompiledQuery, InsertQueryNode, OperationNode } from "kysely";
import { camel } from "../kernel/names.ts";
import { Placeholder } from "./prepared.ts";

export interface TableWrite {
  readonly table: string;
  readonly kind: "insert" | "update" | "delete";
  readonly columns?: readonly string[];
}

const noWrites: readonly TableWrite[] = [];
const writesByNode = new WeakMap<OperationNode, readonly TableWrite[]>();

export function writesOf({ query: node, sql }: CompiledQuery): readonly TableWrite[] {
  if (node.kind === "SelectQueryNode" && node.with === undefined) return noWrites;
  let writes = writesByNode.get(node);
  if (writes === undefined) {
    writes = isPlain(node) ? [writeOf(node)] : writesInText(sql);
    writesByNode.set(node, writes);
  }
  return writes;
}

type PlainWriteNode = Extract<
  CompiledQuery["query"],
  { kind: "InsertQueryNode" | "UpdateQueryNode" | "DeleteQueryNode" }
>;

const isPlain = (node: CompiledQuery["query"]): node is PlainWriteNode =>
  ["InsertQueryNode", "UpdateQueryNode", "DeleteQueryNode"].includes(node.kind) &&
  (node as PlainWriteNode).with === undefined;

function writeOf(node: PlainWriteNode): TableWrite {
  if (node.kind === "InsertQueryNode") return { table: tableIn(node.into), kind: "insert" };
  if (node.kind === "DeleteQueryNode") return { table: tableIn(node.from.froms[0]), kind: "delete" };
  const columns = (node.updates ?? []).map(({ column }) => columnIn(column) ?? "");
  return { table: tableIn(node.table), kind: "update", columns };
}

/** Raw SQL, and statements with a WITH, which may write too. Does not match `do update set` and `for update of`. */
const writingStatement =
  /\b(?:(insert|merge|replace)(?:\s+or\s+\w+)?\s+into|delete\s+from|truncate(?:\s+table)?|(update))\s+(?:only\s+)?(?:"?\w+"?\.)?"?(\w+)"?(?:(?:\s+as)?\s+(?!set\b)"?\w+"?)?(\s+set\b)?/gi;

function writesInText(text: string): TableWrite[] {
  return [...text.matchAll(writingStatement)].flatMap(([, insert, update, table = "", set]) => {
    if (update !== undefined && set === undefined) return [];
    const kind = update === undefined ? (insert === undefined ? "delete" : "insert") : "update";
    return { table: camel(table.toLowerCase()), kind };
  });
}

export function identifyingValues(query: CompiledQuery, column: string): readonly unknown[] | undefined {
  const node = query.query;
  if (!isPlain(node)) return undefined;
  const values =
    node.kind === "InsertQueryNode" ? inserted(node, column) : valuesComparedWith(node.where?.where, column);
  return values?.map((value) => (value instanceof Placeholder ? query.parameters[value.position] : value));
}

/** Kysely's nodes with every member that is read here, to avoid a type for each kind. */
interface LooseNode {
  readonly kind: string;
  readonly name: string;
  readonly node: LooseNode;
  readonly table: LooseNode;
  readonly identifier: LooseNode;
  readonly column: LooseNode;
  readonly left: LooseNode;
  readonly right: LooseNode;
  readonly leftOperand: LooseNode;
  readonly rightOperand: LooseNode;
  readonly operator: { readonly operator: string };
  readonly value: unknown;
  readonly values: readonly unknown[];
  readonly sqlFragments: readonly string[];
  readonly parameters: readonly LooseNode[];
}

function inserted({ columns = [], values }: InsertQueryNode, column: string): unknown[] | undefined {
  const position = columns.findIndex((each) => columnIn(each) === column);
  if (position < 0 || values?.kind !== "ValuesNode") return undefined;
  return (values as unknown as { values: readonly LooseNode[] }).values.map(({ kind, values: row }) =>
    kind === "PrimitiveValueListNode" ? row[position] : (row[position] as LooseNode).value,
  );
}

/** The values in a condition that holds for all rows of the statement: `column = value`, `column in (…)`, or a dialect's `isOneOf`. */
function valuesComparedWith(node: OperationNode | undefined, column: string): readonly unknown[] | undefined {
  const part = node as LooseNode | undefined;
  if (part?.kind === "AndNode")
    return valuesComparedWith(part.left as never, column) ?? valuesComparedWith(part.right as never, column);
  if (part?.kind === "BinaryOperationNode" && columnIn(part.leftOperand) === column) {
    const { kind, value, values } = part.rightOperand;
    if (part.operator.operator === "=" && kind === "ValueNode") return [value];
    return part.operator.operator === "in" && kind === "PrimitiveValueListNode" ? values : undefined;
  }
  const [of, list] = part?.kind === "RawNode" && isOneOf.test(part.sqlFragments.join("?")) ? part.parameters : [];
  if (of === undefined || columnIn(of) !== column) return undefined;
  return typeof list?.value === "string" ? (JSON.parse(list.value) as unknown[]) : (list?.value as unknown[]);
}

const isOneOf = /^\?( in \(select value from json_each\(\?\)\)| = any\(\?::text\[\]\))$/;

function tableIn(node: unknown): string {
  const part = node as LooseNode | undefined;
  if (part?.kind === "AliasNode") return tableIn(part.node);
  if (part?.kind !== "TableNode") throw new Error("a statement writes something that is not a named table");
  return camel(part.table.identifier.name);
}

function columnIn(node: unknown): string | undefined {
  const part = node as LooseNode | undefined;
  if (part?.kind === "ColumnNode") return camel(part.column.name);
  if (part?.kind === "ReferenceNode") return columnIn(part.column);
  return part?.kind === "RawNode" && part.parameters.length === 1 ? columnIn(part.parameters[0]) : undefined;
}
