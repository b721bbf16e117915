/** An output as a workspace's document names it: the same thing as a state version's output, under its older name. */
import { defineResource } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { detailedType, outputAttributes, type StateVersionOutputView } from "../state-version-outputs/definition.ts";

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
