/** Data retention policies of workspaces and organizations, in two resource types. See docs/api.md#data-retention. */
import { z } from "zod";
import type { DataRetentionPolicyTable } from "../../../database/schema/workspaces.ts";
import { defineResource, definitionBuilders, type Operation } from "../../../jsonapi/define.ts";
import { wholeNumber } from "../../../jsonapi/schemas.ts";

export type DataRetentionPolicyView = DataRetentionPolicyTable;

export const policyKinds = ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"] as const;
export type PolicyKind = (typeof policyKinds)[number];

const ofWorkspace = "/workspaces/:workspace_id/relationships/data-retention-policy";
const ofOrganization = "/organizations/:organization_name/relationships/data-retention-policy";

/** 100 years. */
export const daysMax = 36_500;
const daysDoc =
  "The number of days after which state versions and configuration archives are deleted, except the current ones.";

/** Only documents the body; `rules.ts` parses it. */
const policyBody = z.object({
  data: z
    .object({
      type: z.unknown().optional().meta({ enum: policyKinds }),
      attributes: z
        .unknown()
        .optional()
        .meta({
          type: "object",
          properties: {
            "delete-older-than-n-days": { type: "integer", minimum: 1, maximum: daysMax, description: daysDoc },
          },
        }),
    })
    .meta({ required: ["type"] }),
});

const set = {
  body: { custom: policyBody },
  ifMatch: true,
  answer: "created",
  example: { data: { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": 365 } } },
} as const;

const operations = {
  showWorkspaceDataRetentionPolicy: {
    method: "GET",
    path: ofWorkspace,
    summary: "Show a workspace's data retention policy, or the organization's if the workspace has none",
    needs: "read access to the workspace's runs; self-hosted edition only",
    answer: "document",
  },
  setWorkspaceDataRetentionPolicy: {
    method: "POST",
    path: ofWorkspace,
    summary: "Set a workspace's data retention policy, replacing any existing one",
    needs: "admin access to the workspace; self-hosted edition only",
    ...set,
  },
  changeWorkspaceDataRetentionPolicy: {
    ...set,
    method: "PATCH",
    path: ofWorkspace,
    summary: "Set a workspace's data retention policy, for clients that use PATCH",
    needs: "admin access to the workspace; self-hosted edition only",
    answer: "document",
  },
  deleteWorkspaceDataRetentionPolicy: {
    method: "DELETE",
    path: ofWorkspace,
    summary: "Delete a workspace's data retention policy",
    needs: "admin access to the workspace; self-hosted edition only",
    answer: "nothing",
  },
  showOrganizationDataRetentionPolicy: {
    method: "GET",
    path: ofOrganization,
    summary: "Show an organization's data retention policy",
    needs: "a member; self-hosted edition only",
    answer: "document",
  },
  setOrganizationDataRetentionPolicy: {
    method: "POST",
    path: ofOrganization,
    summary: "Set an organization's data retention policy, replacing any existing one",
    needs: "an owner, or the organization's token; self-hosted edition only",
    ...set,
  },
  changeOrganizationDataRetentionPolicy: {
    ...set,
    method: "PATCH",
    path: ofOrganization,
    summary: "Set an organization's data retention policy, for clients that use PATCH",
    needs: "an owner, or the organization's token; self-hosted edition only",
    answer: "nothing",
  },
  deleteOrganizationDataRetentionPolicy: {
    method: "DELETE",
    path: ofOrganization,
    summary: "Delete an organization's data retention policy",
    needs: "an owner, or the organization's token; self-hosted edition only",
    answer: "nothing",
  },
} as const satisfies Record<string, Operation>;

const relationships = {
  workspace: definitionBuilders<DataRetentionPolicyView>().toOne(
    "workspaces",
    "The policy's workspace. Null for an organization's policy.",
    {
      nullable: true,
      id: (policy) => policy.workspaceId,
    },
  ),
};

export const deleteOlderPolicies = defineResource<DataRetentionPolicyView>()(({ required }) => ({
  type: "data-retention-policy-delete-olders",
  typeOf: (policy) => policy.kind,
  doc: "Deletes old state versions and configuration archives after a number of days. The current ones are kept.",
  id: (policy) => policy.id,
  version: (policy) => policy.version,
  attributes: {
    "delete-older-than-n-days": required(wholeNumber({ min: 1, max: daysMax }), daysDoc, {
      from: (policy) => policy.deleteOlderThanNDays ?? undefined,
    }),
  },
  relationships,
  operations,
}));

export const dontDeletePolicies = defineResource<DataRetentionPolicyView>()(() => ({
  type: "data-retention-policy-dont-deletes",
  doc: "Keeps all state versions and configuration archives. On a workspace, it overrides the organization's policy.",
  id: (policy) => policy.id,
  version: (policy) => policy.version,
  attributes: {},
  relationships,
  operations: {},
}));
