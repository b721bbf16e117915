/** Task stages, at which other services are asked about a run. There are none here; clients list them before they follow a run. */
import { defineResource } from "../../jsonapi/define.ts";
import { implement } from "../shared/context.ts";
import { loadRun } from "./runs/reads.ts";

const taskStages = defineResource<{ readonly id: string }>()(() => ({
  type: "task-stages",
  doc: "A stage of a run at which other services are asked. The service has none: the list is there for clients that look for them, and is empty.",
  id: (stage) => stage.id,
  attributes: {},
  relationships: {},
  operations: {
    listTaskStages: {
      method: "GET",
      path: "/runs/:run_id/task-stages",
      summary: "List a run's stages of tasks, of which there are none",
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
