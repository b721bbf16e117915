/** The column of a table that names a workspace, with the way to it. */
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { Name } from "../ui/text.tsx";
import type { Column } from "../ui/table.tsx";

export const WorkspaceLink = ({ organization, name }: { readonly organization: string; readonly name: string }) => (
  <Link to={paths.workspace(organization, name)}>
    <Name>{name}</Name>
  </Link>
);

interface Named {
  readonly attributes: { readonly name: string };
}

export const workspaceColumn = (organization: string): Column<Named> => ({
  title: "Workspace",
  cell: ({ attributes: { name } }) => <WorkspaceLink organization={organization} name={name} />,
});
