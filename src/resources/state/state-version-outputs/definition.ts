/** The outputs of a state version and of a workspace. Lists must hide sensitive values. */
import { z } from "zod";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import { defineResource, definitionBuilders } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { flag, text } from "../../../jsonapi/schemas.ts";

export interface StateVersionOutputView extends Omit<StateVersionOutputTable, "value"> {
  readonly value: unknown;
}

const needs = "'read-outputs' on the workspace's state versions";

const { readOnly } = definitionBuilders<StateVersionOutputView>();

const outputAttributes = {
  name: readOnly(text(), "The output's name in the configuration."),
  sensitive: readOnly(flag(), "Whether the configuration marks it as sensitive."),
  value: readOnly(
    z.unknown().meta({ description: "Any JSON value" }),
    "The value. Null for a sensitive output in some lists, and for a value larger than 1 MiB.",
    { audited: false },
  ),
} as const;

const detailedType = readOnly(z.unknown(), 'The full type in the engine\'s notation, such as `["list", "string"]`.', {
  from: (output) => new JsonText(output.detailedType),
  audited: false,
});

export const stateVersionOutputs = defineResource<StateVersionOutputView>()(() => ({
  type: "state-version-outputs",
  doc: "An output of a state version.",
  id: (output) => output.id,
  attributes: {
    ...outputAttributes,
    type: readOnly(text(), "`string`, `number`, `boolean`, `array` or `object`."),
    "detailed-type": detailedType,
  },
  relationships: {},
  links: (output) => ({ self: `/api/v2/state-version-outputs/${output.id}` }),
  operations: {
    listCurrentOutputs: {
      callers: "runs",
      method: "GET",
      path: "/workspaces/:workspace_id/current-state-version-outputs",
      summary: "List all outputs of a workspace's current state, without pages; sensitive values are null",
      needs,
      answer: "list",
    },
    listStateVersionOutputs: {
      callers: "runs",
      method: "GET",
      path: "/state-versions/:state_version_id/outputs",
      summary: "List a state version's outputs; callers who can read the state see sensitive values",
      needs,
      query: { paged: true },
      answer: "list",
    },
    showStateVersionOutput: {
      callers: "runs",
      method: "GET",
      path: "/state-version-outputs/:output_id",
      summary: "Show an output, including a sensitive value",
      needs,
      answer: "document",
    },
  },
}));

export const workspaceOutputs = defineResource<StateVersionOutputView>()(({ readOnly }) => ({
  type: "workspace-outputs",
  doc: "An output of a workspace's current state, as included with the workspace. Sensitive values are null.",
  id: (output) => output.id,
  attributes: {
    ...outputAttributes,
    "output-type": readOnly(text(), "`string`, `number`, `boolean`, `array` or `object`.", {
      from: (output) => output.type,
    }),
    "detailed-type": detailedType,
  },
  relationships: {},
  links: (output) => ({ self: `/api/v2/state-version-outputs/${output.id}` }),
  operations: {},
}));
