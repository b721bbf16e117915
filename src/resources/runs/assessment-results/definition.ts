/** The assessment-results resource: whether real resources still match the state. Hosted edition only. */
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { AssessmentResultTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { flag, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";

export interface AssessmentResultView extends AssessmentResultTable, WorkspacePermissionInput {
  readonly planId: string;
}

const byId = "/assessment-results/:assessment_result_id";
const content = {
  method: "GET",
  needs: "admin access to the workspace; not with an organization's token",
  answer: "content",
} as const satisfies Partial<Operation>;
const linked = ["json-output", "json-schema", "log-output"] as const;

export const assessmentResults = defineResource<AssessmentResultView>()(({ readOnly }) => ({
  type: "assessment-results",
  doc: "The result of a drift assessment: whether real resources still match the state. Created automatically about once a day, in the hosted edition.",
  id: (result) => result.id,
  version: (result) => result.version,
  attributes: {
    drifted: readOnly(flag(), "Whether any resource has drifted."),
    succeeded: readOnly(flag(), "Whether the assessment succeeded."),
    "error-msg": readOnly(text().nullable(), "Why the assessment failed."),
    "created-at": readOnly(timestamp(), "When the assessment finished."),
    "all-checks-succeeded": readOnly(flag(), "Whether no check failed, errored or is unknown.", {
      from: ({ checksFailed, checksErrored, checksUnknown }) => checksFailed + checksErrored + checksUnknown === 0,
    }),
    "resources-drifted": readOnly(wholeNumber(), "The number of resources that have drifted."),
    "resources-undrifted": readOnly(wholeNumber(), "The number of resources that have not drifted."),
    "checks-passed": readOnly(wholeNumber(), "The number of checks that passed."),
    "checks-failed": readOnly(wholeNumber(), "The number of checks that failed."),
    "checks-errored": readOnly(wholeNumber(), "The number of checks that errored."),
    "checks-unknown": readOnly(wholeNumber(), "The number of checks with an unknown result."),
  },
  relationships: {},
  links: ({ id }) => {
    const self = `/api/v2/assessment-results/${id}`;
    return { self, ...Object.fromEntries(linked.map((name) => [name, `${self}/${name}`])) };
  },
  operations: {
    showAssessmentResult: {
      method: "GET",
      path: byId,
      summary: "Show an assessment",
      needs: "read access to the workspace's runs",
      answer: "document",
    },
    showAssessmentJson: {
      ...content,
      path: `${byId}/json-output`,
      summary: "Fetch the JSON output of an assessment's plan",
    },
    showAssessmentSchemas: {
      ...content,
      path: `${byId}/json-schema`,
      summary: "Fetch the provider schemas of an assessment's plan",
    },
    showAssessmentLog: {
      ...content,
      path: `${byId}/log-output`,
      summary: "Fetch the log of an assessment",
      mediaType: "text/plain; charset=utf-8",
    },
  },
}));
