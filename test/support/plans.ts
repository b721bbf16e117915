/** Plans with changes to one type of resource, and their redacted form. */
import { redactPlanBytes } from "../../src/resources/runs/plan-outputs/plan-bytes.ts";
import type { SecretVariable } from "../../src/resources/runs/plan-outputs/masking.ts";
import type { Json } from "./api.ts";

export const provider = "registry.terraform.io/acme/things";
export const resourceChange = (change: object, more: object = {}) => ({
  address: "thing.one",
  mode: "managed",
  type: "thing",
  name: "one",
  provider_name: provider,
  ...more,
  change: { actions: ["update"], ...change },
});
export const schemas = (attributes: object, blocks: object = {}) => ({
  format_version: "1.0",
  provider_schemas: {
    [provider]: {
      provider: { version: 0 },
      resource_schemas: {
        thing: { version: 1, block: { attributes, block_types: blocks } },
        another: { version: 1, block: {} },
      },
      data_source_schemas: { thing: { version: 7, block: {} } },
    },
    "registry.terraform.io/acme/unused": { resource_schemas: {} },
  },
});

export const redactedText = (plan: string, known = "{}", secrets: readonly SecretVariable[] = []): string =>
  Buffer.from(redactPlanBytes({ plan: Buffer.from(plan), schemas: Buffer.from(known), secrets })).toString();
export const redacted = (plan: object, known: object = schemas({}), secrets: readonly SecretVariable[] = []): Json =>
  JSON.parse(redactedText(JSON.stringify(plan), JSON.stringify(known), secrets));
