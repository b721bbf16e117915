/** The workspaces of a project. */
import { useQuery } from "@tanstack/react-query";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { List, WorkspaceLink } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { figure, When } from "../../ui/text.tsx";
import { RunStatus } from "../runs/status.tsx";
import { ProjectFrame, type ProjectDetails } from "./frame.tsx";
import { workspacesOfProject } from "../../api/list-queries.ts";

export default function ProjectPage() {
  return (
    <ProjectFrame
      actions={({ organization, project }) => (
        <>
          {project.attributes["workspace-count"] > 0 && (
            <LinkButton to={paths.move(organization, { from: project.id })} variant="default">
              Move workspaces
            </LinkButton>
          )}
          {project.attributes.permissions["can-create-workspace"] && (
            <LinkButton to={paths.newWorkspace(organization, project.id)}>New workspace</LinkButton>
          )}
        </>
      )}
    >
      {(details) => <Workspaces {...details} />}
    </ProjectFrame>
  );
}

function Workspaces({ organization, project }: ProjectDetails) {
  const { search } = useAddress();
  const sort = useAddress().search["sort"] ?? "name";
  const query = useQuery(workspacesOfProject(organization, project.id, search));
  return (
    <List
      one="workspace"
      label="Workspaces"
      query={query}
      keyOf={({ id }) => id}
      sort={sort}
      empty={
        <Empty
          title="No workspaces yet"
          action={
            project.attributes.permissions["can-create-workspace"] && (
              <LinkButton to={paths.newWorkspace(organization, project.id)}>New workspace</LinkButton>
            )
          }
        >
          A workspace stores the state and runs of one configuration.
        </Empty>
      }
      columns={(response) => [
        {
          title: "Name",
          sort: "name",
          cell: ({ attributes: { name } }) => <WorkspaceLink organization={organization} name={name} />,
        },
        {
          title: "Run",
          sort: "current-run.created-at",
          cell: ({ relationships }) => (
            <RunStatus
              status={includedIn(response, "runs", relationships["current-run"]?.data?.id)?.attributes.status}
            />
          ),
        },
        {
          title: "Resources",
          isFigure: true,
          isExtra: true,
          cell: ({ attributes }) => figure(attributes["resource-count"]),
        },
        {
          title: "Changed",
          sort: "latest-change-at",
          isExtra: true,
          cell: ({ attributes }) => <When time={attributes["latest-change-at"]} />,
        },
      ]}
    />
  );
}
