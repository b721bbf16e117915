/** Who can do what to a project and its workspaces, and why. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Matrix } from "../../access/matrix.tsx";
import { useOwnAccess } from "../../access/rows.ts";
import type { Thing } from "../../access/words.ts";
import { asking } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";

export default function ProjectAccessPage() {
  const { organization, project: id } = useParams({ strict: false }) as { organization: string; project: string };
  const query = useQuery(asking("GET /projects/{project_id}", { path: { project_id: id } }));
  const name = query.data?.data.attributes.name ?? "";
  return (
    <Page
      title={name}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Projects", to: paths.projects(organization) },
      ]}
      actions={<Grant organization={organization} thing={{ kind: "project", id, name }} />}
      tabs={[
        { label: "Workspaces", to: paths.project(organization, id) },
        { label: "Access", to: paths.projectAccess(organization, id) },
      ]}
    >
      <Asked query={query}>{() => <Matrix organization={organization} thing={{ kind: "project", id, name }} />}</Asked>
    </Page>
  );
}

function Grant({ organization, thing }: { readonly organization: string; readonly thing: Thing }) {
  const { mayManage } = useOwnAccess(thing);
  if (!mayManage) return null;
  return <LinkButton to={paths.grant(organization, { project: thing.id })}>Grant access</LinkButton>;
}
