/** What an engine said about a plan in JSON: whole, without its secrets, and the schemas that it speaks of. */
import { defineResource, type Operation } from "../../../jsonapi/define.ts";

const admins = "admin access to the workspace; not with an organization's token";
const whole = {
  method: "GET",
  path: "/plans/:plan_id/json-output",
  summary: "Fetch a plan in JSON, with its secrets in clear; nothing while there is none yet",
  needs: admins,
  answer: "content",
  elseNothing: "There is none yet.",
} as const satisfies Operation;
const schemas = {
  ...whole,
  path: "/plans/:plan_id/json-schema",
  summary: "Fetch the schemas of the providers that a plan uses; nothing while there are none yet",
} as const satisfies Operation;

export const planOutputs = defineResource<never>()(() => ({
  type: "plan-outputs",
  doc: "A plan as the engine writes it in JSON, and what an apply could not store.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    showPlanJson: whole,
    showRunPlanJson: {
      ...whole,
      path: "/runs/:run_id/plan/json-output",
      summary: "Fetch the plan of a run in JSON, with its secrets in clear; nothing while there is none yet",
    },
    showRedactedPlanJson: {
      method: "GET",
      path: "/plans/:plan_id/json-output-redacted",
      summary: "Fetch what an engine draws a plan from, without its secrets; nothing while there is none yet",
      needs: "read access to the workspace's runs",
      answer: "content",
      elseNothing: "There is none yet.",
    },
    showPlanSchemas: schemas,
    showRunPlanSchemas: {
      ...schemas,
      path: "/runs/:run_id/plan/json-schema",
      summary: "Fetch the schemas of the providers that the plan of a run uses; nothing while there are none yet",
    },
    showErroredState: {
      method: "GET",
      path: "/applies/:apply_id/errored-state",
      summary: "Fetch the state that an apply could not store",
      needs: "'read' on the workspace's state versions",
      answer: "content",
    },
  },
}));
