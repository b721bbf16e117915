/** The variable resource, of a workspace or a variable set. The value of a sensitive variable is write-only. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { VarTable } from "../../../database/schema/variables.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { description, varsetManagers, varsetReaders } from "../varsets/definition.ts";

/** `value` is decrypted; null if it is sensitive, so that a view can't reveal it. */
export interface VarView extends Omit<VarTable, "value"> {
  readonly value: string | null;
  readonly precedence?: VarPrecedence;
}

export interface VarPrecedence {
  readonly overwriterId: string | null;
  readonly overwrittenIds: readonly string[];
}

const categories = ["terraform", "env"] as const;

export type VarName = Pick<VarTable, "key" | "category">;

export function keyFaults({ key, category }: VarName): Fault[] {
  if (category === "env")
    return /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(key)
      ? []
      : [
          attributeFault(
            "key",
            "Key of an environment variable must start with a letter or an underscore, and may only contain letters, digits and underscores",
          ),
        ];
  return /\s/.test(key) ? [attributeFault("key", "Key can't contain whitespace")] : [];
}

function bodyFaults({ key, category }: Partial<VarName>): Fault[] {
  return key === undefined || category === undefined ? [] : keyFaults({ key, category });
}

/** Must reveal nothing about the value. */
function versionIdOf({ id, version }: Pick<VarTable, "id" | "version">): string {
  return createHash("sha256").update(`${id}/${version}`).digest("hex");
}

/** Limits a list, which is not paginated by default. */
export const varsMax = 1000;
const keyMax = 255;
const valueBytesMax = 256 * 1024;

export const emptyValue = "";

/** Null only in responses: a client that sends back what it read would otherwise erase a secret. */
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

/** Only for the documentation: `batch.ts` parses each item with the resource definition. */
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
  doc: "A Terraform or environment variable of a workspace or variable set. Its value is stored encrypted.",
  id: (variable) => variable.id,
  version: (variable) => variable.version,
  attributes: {
    key: required(
      text({ min: 1, max: keyMax }),
      "The name of the variable: case-sensitive, and unique within its category in the workspace or variable set.",
    ),
    value: optional(value, "The value of the variable. Null in responses if the variable is sensitive.", {
      default: emptyValue,
      audited: false,
      column: false,
    }),
    description: optional(description, "What the variable is for. Null is stored as an empty string.", { default: "" }),
    category: required(
      oneOf(categories),
      "`terraform` for a Terraform input variable, `env` for an environment variable.",
    ),
    hcl: optional(
      flag(),
      "Whether the value is an HCL literal instead of plain text. It has no effect on environment variables.",
      {
        default: false,
      },
    ),
    sensitive: optional(flag(), "Whether the value is write-only. It can't be turned off again.", { default: false }),
    "created-at": readOnly(timestamp(), "When the variable was created."),
    "version-id": readOnly(text(), "An opaque id that changes with every update.", {
      from: versionIdOf,
      audited: false,
    }),
  },
  relationships: {
    configurable: toOne("workspaces", "The workspace that the variable belongs to, if any.", {
      id: (variable) => variable.workspaceId ?? undefined,
      related: inWorkspace,
    }),
    varset: toOne("varsets", "The variable set that the variable belongs to, if any.", {
      id: (variable) => variable.varsetId ?? undefined,
      related: inVarset,
    }),
    overwriter: toOne(
      "vars",
      "In the context of a workspace: the variable that takes precedence over this one; null if this one applies.",
      {
        nullable: true,
        id: ({ precedence }) => precedence?.overwriterId,
      },
    ),
    overwritten: toMany(
      "vars",
      "In the context of a workspace: the variables with the same key that this one takes precedence over.",
      {
        ids: ({ precedence }) => precedence?.overwrittenIds,
      },
    ),
  },
  links: (variable) => ({
    self: `${inWorkspace(variable) ?? `${inVarset(variable)}/relationships`}/vars/${variable.id}`,
  }),
  bodyFaults,
  operations: {
    listVars: {
      method: "GET",
      path: ofWorkspace,
      summary: "List a workspace's own variables, by key; paginated only on request",
      needs: readers,
      query: { paged: "if-requested" },
      answer: "list",
    },
    listAllVars: {
      method: "GET",
      path: "/workspaces/:workspace_id/all-vars",
      summary:
        "List the effective variables of a workspace, by key: its own and those of the variable sets that apply to it, each key once",
      needs: readers,
      query: { paged: "if-requested" },
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
      summary: "Show a variable of a workspace, without its value if it is sensitive",
      needs: readers,
      answer: "document",
    },
    updateVar: {
      method: "PATCH",
      path: ofVar,
      summary: "Update a variable of a workspace; this creates a new version even if nothing changes",
      needs: writers,
      body: "update",
      answer: "document",
      example: changeExample,
    },
    updateVars: {
      method: "PATCH",
      path: "/workspaces/:workspace_id/relationships/vars",
      summary: "Update several variables of a workspace in one transaction",
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
      summary: "List the variables of a variable set, by key; paginated only on request",
      needs: varsetReaders,
      query: { paged: "if-requested" },
      answer: "list",
    },
    listWorkspaceVarsetVars: {
      method: "GET",
      path: inWorkspaceOfSet,
      summary:
        "List the variables of a variable set that applies to a workspace, by key, each with the variables that it overwrites there",
      needs: readers,
      answer: "list",
    },
    showWorkspaceVarsetVar: {
      method: "GET",
      path: `${inWorkspaceOfSet}/:varset_var_id`,
      summary:
        "Show a variable of a variable set that applies to a workspace, with the variables that it overwrites there",
      needs: readers,
      answer: "document",
    },
    createVarsetVar: {
      method: "POST",
      path: ofVarset,
      summary: "Create a variable in a variable set",
      needs: varsetManagers,
      body: "create",
      answer: "created",
      example: newVarExample,
    },
    showVarsetVar: {
      method: "GET",
      path: ofVarsetVar,
      summary: "Show a variable of a variable set, without its value if it is sensitive",
      needs: varsetReaders,
      answer: "document",
    },
    updateVarsetVar: {
      method: "PATCH",
      path: ofVarsetVar,
      summary: "Update a variable of a variable set; this creates a new version even if nothing changes",
      needs: varsetManagers,
      body: "update",
      answer: "document",
      example: changeExample,
    },
    deleteVarsetVar: {
      method: "DELETE",
      path: ofVarsetVar,
      summary: "Delete a variable of a variable set",
      needs: varsetManagers,
      answer: "nothing",
    },
  },
}));
