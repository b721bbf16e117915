/** A button that requests access to the workspace, project or team of the page. */
import type { ButtonProps } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { workspaceNamed } from "../api/queries.ts";
import { paths } from "../paths.ts";
import { LinkButton } from "../ui/link.tsx";

interface RequestAccessProps extends ButtonProps {
  readonly verb?: string;
}

export function RequestAccess({ verb = "Request access", ...rest }: RequestAccessProps) {
  const organization = useParams({ from: "/inside/$organization", shouldThrow: false })?.organization;
  const project = useParams({ from: "/inside/$organization/projects/$project", shouldThrow: false })?.project;
  const team = useParams({ from: "/inside/$organization/teams/$team", shouldThrow: false })?.team;
  const name = useParams({ from: "/inside/$organization/workspaces/$workspace", shouldThrow: false })?.workspace;
  const workspace = useQuery({ ...workspaceNamed(organization ?? "", name ?? ""), enabled: name !== undefined }).data
    ?.data.id;
  if (organization === undefined) return null;
  return (
    <LinkButton
      variant="default"
      {...rest}
      to={paths.requestAccess(organization, {
        ...(workspace !== undefined && { workspace }),
        ...(project !== undefined && { project }),
        ...(team !== undefined && { team }),
      })}
    >
      {verb}
    </LinkButton>
  );
}
