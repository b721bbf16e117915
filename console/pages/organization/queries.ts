/** What the page of an organization asks for; its route starts these while the page's code loads. */
import { asking, askingOn } from "../../api/queries.ts";
import { runStatusChoices } from "../runs/status.tsx";

export const waitingWorkspaces = (organization: string) =>
  asking("GET /organizations/{organization_name}/workspaces", {
    path: { organization_name: organization },
    query: {
      "filter[current-run][status]": runStatusChoices[0]!.value,
      include: "current_run",
      sort: "-current-run.created-at",
      "page[size]": 5,
    },
  });

export const projectsOf = (organization: string, page: string | undefined) =>
  askingOn("GET /organizations/{organization_name}/projects", {
    path: { organization_name: organization },
    query: { "page[size]": 24, "page[number]": page, sort: "name" },
  });
