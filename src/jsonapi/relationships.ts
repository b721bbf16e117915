/** The builders of relationships to one or many resources. */
import type { z } from "zod";

export type Presence = "required" | "optional" | "never";

export interface ToOne<View = never> {
  readonly many: false;
  readonly types: readonly string[];
  readonly create: Presence;
  readonly update: Presence;
  readonly nullable: boolean;
  readonly doc: string;
  /** Null for none; undefined omits `data`. */
  readonly id?: (view: View) => string | null | undefined;
  /** For several `types`; the first one by default. */
  readonly type?: (view: View) => string;
  readonly related?: (view: View) => string | undefined;
}

export interface ToMany<View = never> {
  readonly many: true;
  readonly item?: z.ZodType;
  /** If present, handlers get identifiers instead of ids. */
  readonly metaSent?: z.ZodType;
  readonly types: readonly string[];
  readonly create: Presence;
  readonly update: Presence;
  readonly doc: string;
  readonly ids?: (view: View) => readonly string[] | undefined;
  readonly meta?: (view: View, id: string) => object | undefined;
  readonly related?: (view: View) => string | undefined;
}
export type Relationship<View = never> = ToOne<View> | ToMany<View>;

type RelationshipOptions<R, Create, Update> = Partial<
  Omit<R, "many" | "types" | "doc" | "create" | "update" | "item" | "metaSent">
> & {
  readonly create?: Create;
  readonly update?: Update;
};
type Types = string | readonly string[];

export function toOne<View>() {
  return <Create extends Presence = "never", Update extends Presence = "never">(
    types: Types,
    doc: string,
    options: RelationshipOptions<ToOne<View>, Create, Update>,
  ): ToOne<View> & { readonly create: NoInfer<Create>; readonly update: NoInfer<Update> } =>
    ({
      many: false,
      create: "never",
      update: "never",
      nullable: false,
      types: [types].flat(),
      doc,
      ...options,
    }) as never;
}

export function toMany<View>() {
  return <
    Create extends Presence = "never",
    Update extends Presence = "never",
    Item extends z.ZodType | undefined = undefined,
    Meta extends z.ZodType | undefined = undefined,
  >(
    types: Types,
    doc: string,
    options: RelationshipOptions<ToMany<View>, Create, Update> & { readonly item?: Item; readonly metaSent?: Meta },
  ): ToMany<View> & {
    readonly create: NoInfer<Create>;
    readonly update: NoInfer<Update>;
  } & (NoInfer<Item> extends z.ZodType ? { readonly item: NoInfer<Item> } : unknown) &
    (NoInfer<Meta> extends z.ZodType ? { readonly metaSent: NoInfer<Meta> } : unknown) =>
    ({ many: true, create: "never", update: "never", types: [types].flat(), doc, ...options }) as never;
}
