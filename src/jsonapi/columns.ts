/** Maps attributes to columns from the definition alone. `rules.ts` of the resource handles attributes with `column: false`. */
import type { z } from "zod";
import { camel, type Camel } from "../kernel/names.ts";
import { fold } from "../kernel/text.ts";
import type { Attribute, ResourceDefinition } from "./define.ts";
import type { Presence } from "./relationships.ts";

type StoredValue<Value> = Value extends boolean ? number : Value extends readonly unknown[] ? string : Value;
type ColumnValue<A> = A extends Attribute<infer Schema, Presence, Presence> ? StoredValue<z.output<Schema>> : never;

type StoredAttribute<D extends ResourceDefinition> = {
  [Name in keyof D["attributes"]]: D["attributes"][Name] extends {
    readonly column: true;
    readonly create: "required" | "optional";
  }
    ? Name
    : never;
}[keyof D["attributes"]];

type FoldedAttribute<D extends ResourceDefinition> = {
  [Name in keyof D["attributes"]]: D["attributes"][Name] extends { readonly folded: true } ? Name : never;
}[keyof D["attributes"]];

export type ColumnsOf<D extends ResourceDefinition> = {
  -readonly [Name in StoredAttribute<D> as Camel<Name & string>]: ColumnValue<D["attributes"][Name]>;
} & { [Name in FoldedAttribute<D> as `${Camel<Name & string>}Key`]: string };

interface AttributeColumn {
  readonly name: string;
  readonly initially: unknown;
  readonly foldedAs: string | undefined;
}

interface DefinitionColumns {
  readonly all: readonly AttributeColumn[];
  readonly initially: Readonly<Record<string, unknown>>;
}

const columnsByDefinition = new WeakMap<ResourceDefinition, DefinitionColumns>();

function columnsOf(definition: ResourceDefinition): DefinitionColumns {
  let columns = columnsByDefinition.get(definition);
  if (columns === undefined) {
    const all = Object.entries(definition.attributes)
      .filter(([, attribute]) => attribute.column && attribute.create !== "never")
      .map(([attribute, { default: initially, folded }]) => {
        const name = camel(attribute);
        return { name, initially: toStored(initially), foldedAs: folded ? `${name}Key` : undefined };
      });
    columns = { all, initially: Object.fromEntries(all.map(({ name, initially }) => [name, initially])) };
    columnsByDefinition.set(definition, columns);
  }
  return columns;
}

function toStored(value: unknown): unknown {
  if (typeof value === "boolean") return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

/** Precedence: sent values, the operation's, the definition's defaults. */
export function createdColumns<D extends ResourceDefinition>(
  definition: D,
  attributes: object,
  fromOperation: Partial<ColumnsOf<D>> = {},
): ColumnsOf<D> {
  return {
    ...columnsOf(definition).initially,
    ...fromOperation,
    ...changedColumns(definition, attributes),
  } as ColumnsOf<D>;
}

export function changedColumns<D extends ResourceDefinition>(definition: D, attributes: object): Partial<ColumnsOf<D>> {
  const sent = attributes as Readonly<Record<string, unknown>>;
  const columns: Record<string, unknown> = {};
  for (const { name, foldedAs } of columnsOf(definition).all) {
    const value = sent[name];
    if (value === undefined) continue;
    columns[name] = toStored(value);
    if (foldedAs !== undefined) columns[foldedAs] = fold(value as string);
  }
  return columns as Partial<ColumnsOf<D>>;
}
