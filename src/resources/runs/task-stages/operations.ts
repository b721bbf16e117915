/** Operations on stages of tasks: whoever may see the run is told that it has none. */
import { implement } from "../../shared/context.ts";
import { loadRun } from "../runs/reads.ts";
import { taskStages } from "./definition.ts";

export const taskStageResource = implement(taskStages, {
  async listTaskStages({ context, params }) {
    await loadRun(context.database.reader, context, params.runId);
    return { views: [], totalCount: 0 };
  },
});
