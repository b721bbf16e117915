/** The differences between two state versions. They are computed and not stored. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { choiceParameter, textParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";

const changeKinds = ["resource", "output"] as const;
const changes = ["added", "removed", "changed"] as const;

/** Hidden or absent values are null. */
export interface AttributeChange {
  readonly path: string;
  readonly change: (typeof changes)[number];
  readonly sensitive: boolean;
  readonly "too-large": boolean;
  readonly before: unknown;
  readonly after: unknown;
}

export interface StateChange {
  readonly id: string;
  readonly kind: (typeof changeKinds)[number];
  readonly change: (typeof changes)[number];
  readonly address: string;
  readonly providerType: string | null;
  readonly module: string | null;
  readonly provider: string | null;
  /** Null if the attributes were not compared. */
  readonly attributeChanges: readonly AttributeChange[] | null;
  readonly attributeChangeCount: number | null;
  /** Outputs only. Values are JSON text; sensitive or absent ones are null. */
  readonly sensitive: boolean | null;
  readonly before: string | null;
  readonly after: string | null;
}

const value = z.unknown().meta({ description: "Any JSON value" });
const attributeChange = z.object({
  path: z.string(),
  change: z.enum(changes),
  sensitive: z.boolean(),
  "too-large": z.boolean(),
  before: value,
  after: value,
});
const json = (stored: string | null): JsonText | null => (stored === null ? null : new JsonText(stored));

export const stateVersionChanges = defineResource<StateChange>()(({ readOnly }) => ({
  type: "state-version-changes",
  doc: "One difference between two state versions of a workspace: a resource or an output. Sensitive values are never shown.",
  id: (change) => change.id,
  attributes: {
    kind: readOnly(text(), "`resource` or `output`."),
    change: readOnly(text(), "`added`, `removed` or `changed`."),
    address: readOnly(text(), "The resource's address with its module and index, or the output's name."),
    "provider-type": readOnly(text().nullable(), "The provider's resource type, such as `aws_instance`."),
    module: readOnly(text().nullable(), "The module that contains the resource; `root` for the root module."),
    provider: readOnly(text().nullable(), "The resource's provider, such as `hashicorp/aws`."),
    "attribute-changes": readOnly(
      z.array(attributeChange).nullable(),
      "The changed attributes of a changed resource by path, at most 200, with both values. Values are null if either state marks them as sensitive or their name looks secret (`sensitive`), and if they are long (`too-large`). The list is null if a state is larger than 32 MiB or the resource larger than 256 KiB: those are only compared as a whole.",
    ),
    "attribute-change-count": readOnly(
      wholeNumber().nullable(),
      "The number of changed attributes of a changed resource. 0 if only its metadata changed, such as its dependencies or whether it is tainted.",
    ),
    sensitive: readOnly(
      flag().nullable(),
      "Whether the output is sensitive in either state. If so, its values are null.",
    ),
    before: readOnly(value, "The output's value before the change; null if there was none.", {
      from: (change) => json(change.before),
    }),
    after: readOnly(value, "The output's value after the change; null if there is none.", {
      from: (change) => json(change.after),
    }),
  },
  relationships: {},
  operations: {
    listStateVersionChanges: {
      method: "GET",
      path: "/state-versions/:state_version_id/changes",
      summary: "List the differences between two state versions of a workspace: resources, then outputs",
      needs: "'read' on the workspace's state versions",
      query: {
        paged: true,
        parameters: {
          since: textParameter("The id of the state version to compare with. The default is the previous one."),
          "filter[kind]": choiceParameter(changeKinds, "Returns only resources or only outputs."),
          "filter[change]": choiceParameter(changes, "Returns only additions, removals or changes."),
        },
      },
      answer: "list",
      mayConflict: true,
    },
  },
}));
