/** A variable of a workspace or of a variable set. A sensitive one's value goes in and never comes out. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { VarTable } from "../../../database/schema/variables.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { description, varsetManagers, varsetReaders } from "../varsets/definition.ts";

/** The value opened; null where it is sensitive, so that nothing that is made from a view can tell it. */
export interface VarView extends Omit<VarTable, "value"> {
  readonly value: string | null;
  /** Only as a workspace sees it. */
  readonly precedence?: VarPrecedence;
}

/** How a variable of a set stands to those of the same category and key that a workspace has. */
export interface VarPrecedence {
  /** The one that is in force instead; null where it is in force itself. */
  readonly overwriterId: string | null;
  /** Those that come after it. */
  readonly overwrittenIds: readonly string[];
}

const categories = ["terraform", "env"] as const;

export type Named = Pick<VarTable, "key" | "category">;

/** What an environment, and what Terraform, can't have as a name. */
export function keyFaults({ key, category }: Named): Fault[] {
  if (category === "env")
    return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)
      ? []
      : [
          attributeFault(
            "key",
            "Key of an environment variable must begin with a letter or an underscore, and have only letters, digits and underscores",
          ),
        ];
  return /\s/.test(key) ? [attributeFault("key", "Key must not contain white space")] : [];
}

/** The rules of a key depend on the category; where only one of them is sent, the row tells the other. */
function bodyFaults({ key, category }: Partial<Named>): Fault[] {
  return key === undefined || category === undefined ? [] : keyFaults({ key, category });
}

/** Tells one version from the next, and nothing of what is in it: the value has no part in it. */
function versionIdOf({ id, version }: Pick<VarTable, "id" | "version">): string {
  return createHash("sha256").update(`${id}/${version}`).digest("hex");
}

/** Of one workspace or one set: its whole list is one answer, and so has to stay bounded. */
export const varsMax = 1000;
const keyMax = 255;
const valueBytesMax = 256 * 1024;

/** Of a variable that is created without one. */
export const emptyValue = "";

/** Null is only ever shown: taken in, it would let a client that sends back what it read wipe a secret. */
const value = z
  .string()
  .refine((sent) => Buffer.byteLength(sent) <= valueBytesMax, {
    error: `is too large (maximum is ${valueBytesMax} bytes)`,
  })
  .meta({ maxLength: valueBytesMax })
  .transform((sent): string | null => sent)
  .pipe(z.string().nullable()) as unknown as z.ZodType<string>;

const readers = "'read' on the workspace's variables";
const writers = "'write' on the workspace's variables";
const ofWorkspace = "/workspaces/:workspace_id/vars";
const ofVar = `${ofWorkspace}/:var_id` as const;
const ofVarset = "/varsets/:varset_id/relationships/vars";
const ofVarsetVar = `${ofVarset}/:varset_var_id` as const;

/** Where it is found; nothing for the other owner. */
const inWorkspace = ({ workspaceId }: VarView) =>
  workspaceId === null ? undefined : (`/api/v2/workspaces/${workspaceId}` as const);
const inVarset = ({ varsetId }: VarView) => (varsetId === null ? undefined : (`/api/v2/varsets/${varsetId}` as const));

const newVarExample = {
  data: {
    type: "vars",
    attributes: { key: "region", value: "eu-north-1", description: "Where it runs", category: "terraform" },
  },
};
const inWorkspaceOfSet = "/workspaces/:workspace_id/varsets/:varset_id/relationships/vars";

/** Only what the documentation needs: each item is read by the definition (`batch.ts`). */
const batchBody = z.object({
  data: z
    .object({
      type: z.literal("vars"),
      id: text({ min: 1, max: 256 }),
      attributes: z
        .unknown()
        .optional()
        .meta({
          type: "object",
          properties: {
            key: { type: "string" },
            value: { type: "string" },
            description: { type: "string", nullable: true },
            category: { type: "string", enum: categories },
            hcl: { type: "boolean" },
            sensitive: { type: "boolean" },
          },
        }),
    })
    .array()
    .min(1)
    .max(varsMax),
});

const changeExample = { data: { type: "vars", attributes: { value: "eu-central-1", sensitive: true } } };

export const vars = defineResource<VarView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "vars",
  doc: "A variable of a workspace or of a variable set, for Terraform or for the environment. Its value is stored encrypted.",
  id: (variable) => variable.id,
  version: (variable) => variable.version,
  attributes: {
    key: required(
      text({ min: 1, max: keyMax }),
      "Its name: unique in the workspace or set and the category, with its case.",
    ),
    value: optional(value, "Null in documents where it is sensitive.", {
      default: emptyValue,
      audited: false,
      column: false,
    }),
    description: optional(description, "What it is for; null is taken as empty.", { default: "" }),
    category: required(oneOf(categories), "Whether Terraform gets it, or the environment that Terraform runs in."),
    hcl: optional(flag(), "Whether the value is an expression instead of text; of no effect in the environment.", {
      default: false,
    }),
    sensitive: optional(flag(), "Whether the value is never shown again. Can't be turned off.", { default: false }),
    "created-at": readOnly(timestamp(), "When it was created."),
    "version-id": readOnly(text(), "Another one after each change; says nothing else.", {
      from: versionIdOf,
      audited: false,
    }),
  },
  relationships: {
    configurable: toOne("workspaces", "The workspace that it belongs to, if it belongs to one.", {
      id: (variable) => variable.workspaceId ?? undefined,
      related: inWorkspace,
    }),
    varset: toOne("varsets", "The variable set that it belongs to, if it belongs to one.", {
      id: (variable) => variable.varsetId ?? undefined,
      related: inVarset,
    }),
    overwriter: toOne(
      "vars",
      "As a workspace sees it: the variable that is in force instead; null where it is in force itself.",
      {
        nullable: true,
        id: ({ precedence }) => precedence?.overwriterId,
      },
    ),
    overwritten: toMany("vars", "As a workspace sees it: the variables of the same key that come after it.", {
      ids: ({ precedence }) => precedence?.overwrittenIds,
    }),
  },
  links: (variable) => ({
    self: `${inWorkspace(variable) ?? `${inVarset(variable)}/relationships`}/vars/${variable.id}`,
  }),
  bodyFaults,
  operations: {
    listVars: {
      method: "GET",
      path: ofWorkspace,
      summary: "List a workspace's own variables, by key: all, or a page where one is asked for",
      needs: readers,
      query: { paged: "if-asked" },
      answer: "list",
    },
    listAllVars: {
      method: "GET",
      path: "/workspaces/:workspace_id/all-vars",
      summary:
        "List the variables in force in a workspace, by key: its own and those of the variable sets that apply to it, each key once",
      needs: readers,
      query: { paged: "if-asked" },
      answer: "list",
    },
    createVar: {
      method: "POST",
      path: ofWorkspace,
      summary: "Create a variable in a workspace",
      needs: writers,
      body: "create",
      answer: "created",
      example: newVarExample,
    },
    showVar: {
      method: "GET",
      path: ofVar,
      summary: "Show a variable of a workspace, without its value where that is sensitive",
      needs: readers,
      answer: "document",
    },
    updateVar: {
      method: "PATCH",
      path: ofVar,
      summary: "Change a variable of a workspace; even one that says nothing new makes a new version",
      needs: writers,
      body: "update",
      answer: "document",
      example: changeExample,
    },
    updateVars: {
      method: "PATCH",
      path: "/workspaces/:workspace_id/relationships/vars",
      summary: "Change several variables of a workspace together: all of them, or none",
      needs: writers,
      body: { custom: batchBody },
      answer: "nothing",
      example: { data: [{ ...changeExample.data, id: "var-1234567890abcdef" }] },
    },
    deleteVar: {
      method: "DELETE",
      path: ofVar,
      summary: "Delete a variable of a workspace",
      needs: writers,
      answer: "nothing",
    },
    listVarsetVars: {
      method: "GET",
      path: ofVarset,
      summary: "List a set's variables, by key: all, or a page where one is asked for",
      needs: varsetReaders,
      query: { paged: "if-asked" },
      answer: "list",
    },
    listWorkspaceVarsetVars: {
      method: "GET",
      path: inWorkspaceOfSet,
      summary: "List the variables of a set that applies to a workspace, by key, each with what it overwrites there",
      needs: readers,
      answer: "list",
    },
    showWorkspaceVarsetVar: {
      method: "GET",
      path: `${inWorkspaceOfSet}/:varset_var_id`,
      summary: "Show a variable of a set that applies to a workspace, with what it overwrites there",
      needs: readers,
      answer: "document",
    },
    createVarsetVar: {
      method: "POST",
      path: ofVarset,
      summary: "Create a variable in a set",
      needs: varsetManagers,
      body: "create",
      answer: "created",
      example: newVarExample,
    },
    showVarsetVar: {
      method: "GET",
      path: ofVarsetVar,
      summary: "Show a variable of a set, without its value where that is sensitive",
      needs: varsetReaders,
      answer: "document",
    },
    updateVarsetVar: {
      method: "PATCH",
      path: ofVarsetVar,
      summary: "Change a variable of a set; even one that says nothing new makes a new version",
      needs: varsetManagers,
      body: "update",
      answer: "document",
      example: changeExample,
    },
    deleteVarsetVar: {
      method: "DELETE",
      path: ofVarsetVar,
      summary: "Delete a variable of a set",
      needs: varsetManagers,
      answer: "nothing",
    },
  },
}));
