/**
 * How long old state is kept: on a workspace, or on a whole organization. There are two types; what a policy is, is its
 * `kind`. See docs/decisions/0021-data-retention.md.
 */
import { z } from "zod";
import type { DataRetentionPolicyTable } from "../../../database/schema/workspaces.ts";
import { defineResource, wordsFor, type Operation } from "../../../jsonapi/define.ts";
import { wholeNumber } from "../../../jsonapi/schemas.ts";

export type DataRetentionPolicyView = DataRetentionPolicyTable;

export const policyKinds = ["data-retention-policy-delete-olders", "data-retention-policy-dont-deletes"] as const;
export type PolicyKind = (typeof policyKinds)[number];

const ofWorkspace = "/workspaces/:workspace_id/relationships/data-retention-policy";
const ofOrganization = "/organizations/:organization_name/relationships/data-retention-policy";

/** A hundred years. */
export const daysMax = 36_500;
const daysDoc = "After how many days a state version that is not the current one is removed.";

/** Only what the documentation needs: the type decides by which definition the body is read (`rules.ts`). */
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
    summary: "Show a workspace's data retention policy, or the organization's where it has none of its own",
    needs: "read access to the workspace's runs; self-hosted edition only",
    answer: "document",
  },
  setWorkspaceDataRetentionPolicy: {
    method: "POST",
    path: ofWorkspace,
    summary: "Set a workspace's data retention policy; it replaces the one that is there",
    needs: "admin access to the workspace; self-hosted edition only",
    ...set,
  },
  changeWorkspaceDataRetentionPolicy: {
    ...set,
    method: "PATCH",
    path: ofWorkspace,
    summary: "Set a workspace's data retention policy, by the other method that clients use for it",
    needs: "admin access to the workspace; self-hosted edition only",
    answer: "document",
  },
  deleteWorkspaceDataRetentionPolicy: {
    method: "DELETE",
    path: ofWorkspace,
    summary: "Remove a workspace's own data retention policy",
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
    summary: "Set an organization's data retention policy; it replaces the one that is there",
    needs: "an owner, or the organization's token; self-hosted edition only",
    ...set,
  },
  changeOrganizationDataRetentionPolicy: {
    ...set,
    method: "PATCH",
    path: ofOrganization,
    summary: "Set an organization's data retention policy, by the other method that clients use for it",
    needs: "an owner, or the organization's token; self-hosted edition only",
    answer: "nothing",
  },
  deleteOrganizationDataRetentionPolicy: {
    method: "DELETE",
    path: ofOrganization,
    summary: "Remove an organization's data retention policy",
    needs: "an owner, or the organization's token; self-hosted edition only",
    answer: "nothing",
  },
} as const satisfies Record<string, Operation>;

const relationships = {
  workspace: wordsFor<DataRetentionPolicyView>().toOne(
    "workspaces",
    "The workspace that it was set on; null where it is the organization's.",
    {
      nullable: true,
      id: (policy) => policy.workspaceId,
    },
  ),
};

export const deleteOlderPolicies = defineResource<DataRetentionPolicyView>()(({ required }) => ({
  type: "data-retention-policy-delete-olders",
  /** The operations answer with either type. */
  typeOf: (policy) => policy.kind,
  doc: "Old state versions are removed after a number of days; the current one never is.",
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
  doc: "No state version is removed; on a workspace it protects from the organization's policy.",
  id: (policy) => policy.id,
  version: (policy) => policy.version,
  attributes: {},
  relationships,
  operations: {},
}));
