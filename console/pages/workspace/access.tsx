/** Who has access to a workspace, and why. */
import { Matrix } from "../../access/matrix.tsx";
import { useOwnAccess } from "../../access/rows.ts";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { WorkspaceFrame } from "./frame.tsx";
import type { Place } from "./place.ts";

const thingOf = ({ workspace, included }: Place) => {
  const project = includedIn({ included }, "projects", workspace.relationships.project?.data?.id);
  return {
    kind: "workspace" as const,
    id: workspace.id,
    name: workspace.attributes.name,
    project: project && { id: project.id, name: project.attributes.name },
  };
};

export default function WorkspaceAccessPage() {
  return (
    <WorkspaceFrame actions={(place) => <Grant place={place} />}>
      {(place) => <Matrix organization={place.organization} thing={thingOf(place)} />}
    </WorkspaceFrame>
  );
}

function Grant({ place }: { readonly place: Place }) {
  const { mayManage } = useOwnAccess(thingOf(place));
  if (!mayManage) return null;
  return <LinkButton to={paths.grant(place.organization, { workspace: place.workspace.id })}>Grant access</LinkButton>;
}
