/** Task stages are not supported: the list is always empty, for clients that request it. */
import { defineResource } from "../../jsonapi/define.ts";
import { implement } from "../shared/context.ts";
import { loadRun } from "./runs/reads.ts";

const taskStages = defineResource<{ readonly id: string }>()(() => ({
  type: "task-stages",
  doc: "A stage of a run at which run tasks are executed. Run tasks are not supported: the list is always empty.",
  id: (stage) => stage.id,
  attributes: {},
  relationships: {},
  operations: {
    listTaskStages: {
      method: "GET",
      path: "/runs/:run_id/task-stages",
      summary: "List a run's task stages; always empty",
      needs: "read access to the workspace's runs",
      query: { paged: true },
      answer: "list",
    },
  },
}));

export const taskStageResource = implement(taskStages, {
  async listTaskStages({ context, params }) {
    await loadRun(context.database.reader, context, params.runId);
    return { views: [], totalCount: 0 };
  },
});
