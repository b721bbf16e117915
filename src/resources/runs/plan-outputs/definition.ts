/** The JSON output of plans: unredacted, redacted, and the provider schemas. */
import { defineResource, type Operation } from "../../../jsonapi/define.ts";

const admins = "admin access to the workspace; not with an organization's token";
const whole = {
  method: "GET",
  path: "/plans/:plan_id/json-output",
  summary: "Fetch the JSON output of a plan, with secrets in clear text; 204 until the plan has finished",
  needs: admins,
  answer: "content",
  noContentWhen: "The plan has not finished.",
} as const satisfies Operation;
const schemas = {
  ...whole,
  path: "/plans/:plan_id/json-schema",
  summary: "Fetch the provider schemas of a plan; 204 until the plan has finished",
} as const satisfies Operation;

export const planOutputs = defineResource<never>()(() => ({
  type: "plan-outputs",
  doc: "The JSON output of a plan. For an apply: the state that could not be stored.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    showPlanJson: whole,
    showRunPlanJson: {
      ...whole,
      path: "/runs/:run_id/plan/json-output",
      summary: "Fetch the JSON output of a run's plan, with secrets in clear text; 204 until the plan has finished",
    },
    showRedactedPlanJson: {
      method: "GET",
      path: "/plans/:plan_id/json-output-redacted",
      summary: "Fetch the redacted JSON that engines render a plan from; 204 until the plan has finished",
      needs: "read access to the workspace's runs",
      answer: "content",
      noContentWhen: "The plan has not finished.",
    },
    showPlanSchemas: schemas,
    showRunPlanSchemas: {
      ...schemas,
      path: "/runs/:run_id/plan/json-schema",
      summary: "Fetch the provider schemas of a run's plan; 204 until the plan has finished",
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
