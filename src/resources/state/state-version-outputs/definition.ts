/** An output of a state version. Sensitive values are only shown where they are asked for. */
import { z } from "zod";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import { defineResource, wordsFor } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { flag, text } from "../../../jsonapi/schemas.ts";

export interface StateVersionOutputView extends Omit<StateVersionOutputTable, "value"> {
  /** Null where it is sensitive and this is no place for it. */
  readonly value: unknown;
}

const needs = "'read-outputs' on the workspace's state versions";

const { readOnly } = wordsFor<StateVersionOutputView>();

/** What both kinds of output documents show. */
const outputAttributes = {
  name: readOnly(text(), "Its name, as the configuration has it."),
  sensitive: readOnly(flag(), "Whether the configuration marks it as sensitive."),
  value: readOnly(
    z.unknown().meta({ description: "Any JSON value" }),
    "Its value; null for a sensitive one where many are shown, and for one of more than 1 MiB.",
    { audited: false },
  ),
} as const;

const detailedType = readOnly(z.unknown(), 'Its whole type, as the engine writes types: `["list", "string"]`.', {
  from: (output) => new JsonText(output.detailedType),
  audited: false,
});

export const stateVersionOutputs = defineResource<StateVersionOutputView>()(() => ({
  type: "state-version-outputs",
  doc: "A value that a configuration gives to others, as one of its states has it.",
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
      summary: "List the outputs of a workspace's state in force, all at once; sensitive values are null",
      needs,
      answer: "list",
    },
    listStateVersionOutputs: {
      callers: "runs",
      method: "GET",
      path: "/state-versions/:state_version_id/outputs",
      summary: "List a state version's outputs; sensitive values are shown to whoever may read the state itself",
      needs,
      query: { paged: true },
      answer: "list",
    },
    showStateVersionOutput: {
      callers: "runs",
      method: "GET",
      path: "/state-version-outputs/:output_id",
      summary: "Show an output, also a sensitive one",
      needs,
      answer: "document",
    },
  },
}));

export const workspaceOutputs = defineResource<StateVersionOutputView>()(({ readOnly }) => ({
  type: "workspace-outputs",
  doc: "An output of the state in force, as it is shown beside a workspace; sensitive values are null.",
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
