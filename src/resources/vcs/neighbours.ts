/** What version control does where workspaces are connected. */
import type { Neighbours } from "../shared/neighbours.ts";
import { noteConnected } from "./vcs-events/writes.ts";

export const vcsNeighbours: Pick<Neighbours, "repositoryConnected"> = { repositoryConnected: noteConnected };
