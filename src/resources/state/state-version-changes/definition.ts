/** What one state has and another has not: resources by their addresses, and outputs. Nothing is stored of it. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { choice, textParameter } from "../../../jsonapi/query.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";

const changeKinds = ["resource", "output"] as const;
const changes = ["added", "removed", "changed"] as const;

/** One attribute in which a resource differs; the values are null where they are hidden, or absent. */
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
  /** A resource's address, or an output's name. */
  readonly address: string;
  /** Of a resource. */
  readonly providerType: string | null;
  readonly module: string | null;
  readonly provider: string | null;
  /** Of a changed resource, where it was compared by attribute. */
  readonly attributeChanges: readonly AttributeChange[] | null;
  readonly attributeChangeCount: number | null;
  /** Of an output; the JSON text of its values, null where it is sensitive, or not there. */
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
  doc: "One thing in which two states of a workspace differ. Sensitive values are never shown.",
  id: (change) => change.id,
  attributes: {
    kind: readOnly(text(), "`resource` or `output`."),
    change: readOnly(text(), "`added`, `removed` or `changed`."),
    address: readOnly(text(), "The resource's address with its module and index, or the output's name."),
    "provider-type": readOnly(text().nullable(), "What a resource is, in the provider's words: `aws_instance`."),
    module: readOnly(text().nullable(), "The module that a resource stands in; `root` for none."),
    provider: readOnly(text().nullable(), "The provider that manages a resource: `hashicorp/aws`."),
    "attribute-changes": readOnly(
      z.array(attributeChange).nullable(),
      "Of a changed resource, its attributes that differ, at most 200: by path, with both values. The values are null where either state marks them as sensitive or their name says that they are secret (`sensitive`), and where they are long (`too-large`). Null where a state is larger than 32 MiB or the resource larger than 256 KiB: those are compared as a whole.",
    ),
    "attribute-change-count": readOnly(
      wholeNumber().nullable(),
      "How many attributes of a changed resource differ. 0 where only its metadata does, such as its dependencies, or that it is tainted.",
    ),
    sensitive: readOnly(flag().nullable(), "Whether an output is sensitive in either state; then its values are null."),
    before: readOnly(value, "An output's value before; null where there was none.", {
      from: (change) => json(change.before),
    }),
    after: readOnly(value, "An output's value after; null where there is none.", {
      from: (change) => json(change.after),
    }),
  },
  relationships: {},
  operations: {
    listStateVersionChanges: {
      method: "GET",
      path: "/state-versions/:state_version_id/changes",
      summary: "List what differs between two state versions of a workspace: resources, then outputs",
      needs: "'read' on the workspace's state versions",
      query: {
        paged: true,
        parameters: {
          since: textParameter("The id of the state version to compare with; the one before it where none is named."),
          "filter[kind]": choice(changeKinds, "Only resources, or only outputs."),
          "filter[change]": choice(changes, "Only what was added, removed or changed."),
        },
      },
      answer: "list",
      mayConflict: true,
    },
  },
}));
