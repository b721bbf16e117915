/** The frame of every page of a project: its name and its tabs. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { project as projectQuery, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, dataUnlessDeleted } from "../../components/states.tsx";

export interface ProjectDetails {
  readonly organization: string;
  readonly project: Resource<"projects">;
  readonly etag: string | undefined;
}

interface ProjectFrameProps {
  readonly actions?: (details: ProjectDetails) => ReactNode;
  readonly children: (details: ProjectDetails) => ReactNode;
}

export function ProjectFrame({ actions, children }: ProjectFrameProps) {
  const { organization, project: id } = useParams({ from: "/inside/$organization/projects/$project" });
  const query = useQuery(projectQuery(id));
  const canReadAuditLog = useRights(organization)?.["can-manage-auditing"];
  const response = dataUnlessDeleted(query);
  const details = response && { organization, project: response.data, etag: response.etag };
  return (
    <Page
      title={query.data?.data.attributes.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Projects", to: paths.projects(organization) },
      ]}
      about={details?.project.attributes.description}
      actions={details && actions?.(details)}
      tabs={[
        { label: "Workspaces", to: paths.project(organization, id) },
        { label: "Access", to: paths.projectAccess(organization, id) },
        ...(details?.project.attributes.permissions["can-update"]
          ? [{ label: "Notifications", to: paths.projectNotifications(organization, id) }]
          : []),
        ...(canReadAuditLog ? [{ label: "Audit log", to: paths.projectAudit(organization, id) }] : []),
        { label: "Settings", to: paths.projectSettings(organization, id) },
      ]}
    >
      <QueryContent query={query}>{() => details && children(details)}</QueryContent>
    </Page>
  );
}
