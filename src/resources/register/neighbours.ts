/** What projects do where organizations and teams come and go. */
import type { Neighbours } from "../shared/neighbours.ts";
import { projects } from "./projects/definition.ts";
import { readableProjects } from "./projects/reads.ts";
import { discountTeam, insertDefaultProject } from "./projects/writes.ts";

export const registerNeighbours: Pick<Neighbours, "organizationMade" | "defaultProject" | "teamLeaves"> = {
  organizationMade: insertDefaultProject,
  defaultProject: async (tx, context, { id, defaultProjectId }) => {
    const found = await readableProjects(tx, context.actor, id, [defaultProjectId]);
    return found.map((view) => ({ definition: projects, view }));
  },
  teamLeaves: discountTeam,
};
