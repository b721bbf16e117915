/** An assessment: whether what is really there still is what the state says, by a plan that is thrown away. Hosted edition. */
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { AssessmentResultTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { flag, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";

export interface AssessmentResultView extends AssessmentResultTable, WorkspaceFacts {
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
  doc: "Whether what is really there still is what the state says. Made by itself about once a day, in the hosted edition.",
  id: (result) => result.id,
  version: (result) => result.version,
  attributes: {
    drifted: readOnly(flag(), "Whether something differs."),
    succeeded: readOnly(flag(), "Whether it could be told."),
    "error-msg": readOnly(text().nullable(), "Why it could not."),
    "created-at": readOnly(timestamp(), "When it was made."),
    "all-checks-succeeded": readOnly(flag(), "Whether no check failed, erred or is unknown.", {
      from: ({ checksFailed, checksErrored, checksUnknown }) => checksFailed + checksErrored + checksUnknown === 0,
    }),
    "resources-drifted": readOnly(wholeNumber(), "How many resources differ."),
    "resources-undrifted": readOnly(wholeNumber(), "How many do not."),
    "checks-passed": readOnly(wholeNumber(), "How many checks passed."),
    "checks-failed": readOnly(wholeNumber(), "How many failed."),
    "checks-errored": readOnly(wholeNumber(), "How many erred."),
    "checks-unknown": readOnly(wholeNumber(), "How many nobody can tell."),
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
    showAssessmentJson: { ...content, path: `${byId}/json-output`, summary: "Fetch the plan of an assessment in JSON" },
    showAssessmentSchemas: {
      ...content,
      path: `${byId}/json-schema`,
      summary: "Fetch the schemas of the providers that an assessment used",
    },
    showAssessmentLog: {
      ...content,
      path: `${byId}/log-output`,
      summary: "Fetch the log of an assessment",
      mediaType: "text/plain; charset=utf-8",
    },
  },
}));
