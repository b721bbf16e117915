/** Who has access to a project and its workspaces, and why. */
import { Matrix } from "../../access/matrix.tsx";
import { useOwnAccess } from "../../access/rows.ts";
import type { Thing } from "../../access/words.ts";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { type ProjectPlace, ProjectFrame } from "../projects/frame.tsx";

const thingOf = ({ project }: ProjectPlace): Thing => ({
  kind: "project",
  id: project.id,
  name: project.attributes.name,
});

export default function ProjectAccessPage() {
  return (
    <ProjectFrame actions={(place) => <Grant {...place} />}>
      {(place) => <Matrix organization={place.organization} thing={thingOf(place)} />}
    </ProjectFrame>
  );
}

function Grant(place: ProjectPlace) {
  const { mayManage } = useOwnAccess(thingOf(place));
  if (!mayManage) return null;
  return <LinkButton to={paths.grant(place.organization, { project: place.project.id })}>Grant access</LinkButton>;
}
