/** The columns of the list of workspaces. */
import { includedIn, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import type { TableColumn } from "../../ui/table.tsx";
import { figure, When } from "../../ui/text.tsx";
import { RunStatus } from "../runs/status.tsx";
import { WorkspaceLink } from "../../components/list.tsx";
import { LockedBy } from "./lock.tsx";

type WorkspaceListItem = {
  readonly row: Resource<"workspaces">;
  readonly page: { readonly included?: readonly any[] };
};

export const columnsOf = (organization: string): TableColumn<WorkspaceListItem>[] => [
  {
    title: "Name",
    sort: "name",
    width: "minmax(0, 2fr)",
    cell: ({ row }) => <WorkspaceLink organization={organization} name={row.attributes.name} />,
  },
  {
    title: "Project",
    width: "minmax(0, 1fr)",
    isExtra: true,
    cell: ({ row, page }) => {
      const project = includedIn(page, "projects", row.relationships.project?.data?.id);
      return (
        project && (
          <Link to={paths.project(organization, project.id)} c="inherit">
            {project.attributes.name}
          </Link>
        )
      );
    },
  },
  {
    title: "Run",
    sort: "current-run.created-at",
    // Fits "Needs confirmation".
    width: "minmax(10.5rem, 1fr)",
    cell: ({ row, page }) => {
      const run = includedIn(page, "runs", row.relationships["current-run"]?.data?.id);
      return run ? (
        <Link to={paths.run(organization, row.attributes.name, run.id)} c="inherit">
          <RunStatus status={run.attributes.status} />
        </Link>
      ) : (
        <RunStatus status={undefined} />
      );
    },
  },
  {
    title: "Resources",
    width: 84,
    isFigure: true,
    isExtra: true,
    cell: ({ row }) => figure(row.attributes["resource-count"]),
  },
  {
    title: "Changed",
    sort: "latest-change-at",
    width: 104,
    isExtra: true,
    cell: ({ row }) => <When time={row.attributes["latest-change-at"]} />,
  },
  {
    title: "Lock",
    width: "minmax(0, 1.5fr)",
    isExtra: true,
    cell: ({ row, page }) => <LockedBy workspace={row} included={page.included} />,
  },
];
