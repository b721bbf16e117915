/** Who has access to a project and its workspaces, or to one workspace, and why. */
import { Matrix } from "../../access/matrix.tsx";
import { useOwnAccess } from "../../access/rows.ts";
import type { AccessTarget } from "../../access/words.ts";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { RequestAccess } from "../../components/request-access.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { ProjectFrame, type ProjectDetails } from "../projects/frame.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";

const ofProject = ({ organization, project }: ProjectDetails): AccessProps => ({
  organization,
  target: { kind: "project", id: project.id, name: project.attributes.name },
});

function ofWorkspace({ organization, workspace, included }: WorkspaceDetails): AccessProps {
  const { id, attributes, relationships } = workspace;
  const project = includedIn({ included }, "projects", relationships.project?.data?.id);
  const within = project && { id: project.id, name: project.attributes.name };
  return { organization, target: { kind: "workspace", id, name: attributes.name, project: within } };
}

export const ProjectAccess = () => (
  <ProjectFrame actions={(place) => <Grant {...ofProject(place)} />}>
    {(place) => <Matrix {...ofProject(place)} />}
  </ProjectFrame>
);

export const WorkspaceAccess = () => (
  <WorkspaceFrame actions={(place) => <Grant {...ofWorkspace(place)} />}>
    {(place) => <Matrix {...ofWorkspace(place)} />}
  </WorkspaceFrame>
);

interface AccessProps {
  readonly organization: string;
  readonly target: AccessTarget;
}

function Grant({ organization, target: { kind, id }, target }: AccessProps) {
  const { canManage, query } = useOwnAccess(target);
  if (query.isLoading) return null;
  if (!canManage) return <RequestAccess />;
  return <LinkButton to={paths.grant(organization, { [kind]: id })}>Grant access</LinkButton>;
}
