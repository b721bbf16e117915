/** The frame of every page of a workspace: its name, its tabs, and its main actions. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { workspaceNamed, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, dataUnlessDeleted } from "../../components/states.tsx";
import { StartRun } from "../runs/start.tsx";
import { LockActions } from "./lock-actions.tsx";
import type { WorkspaceDetails } from "./details.ts";

const tabsOf = (
  organization: string,
  name: string,
  may: Resource<"workspaces">["attributes"]["permissions"],
  canReadAuditLog: boolean,
) => [
  { label: "Overview", to: paths.workspace(organization, name) },
  { label: "Runs", to: paths.workspaceRuns(organization, name) },
  ...(may["can-read-state-versions"] ? [{ label: "States", to: paths.workspaceStates(organization, name) }] : []),
  ...(may["can-read-variable"] ? [{ label: "Variables", to: paths.workspaceVariables(organization, name) }] : []),
  { label: "Access", to: paths.workspaceAccess(organization, name) },
  { label: "Repository", to: paths.workspaceRepository(organization, name) },
  ...(may["can-update"] ? [{ label: "Notifications", to: paths.workspaceNotifications(organization, name) }] : []),
  ...(canReadAuditLog ? [{ label: "Audit log", to: paths.workspaceAudit(organization, name) }] : []),
  { label: "Settings", to: paths.workspaceSettings(organization, name) },
];

export function useWorkspaceNames(): { readonly organization: string; readonly name: string } {
  const { organization, workspace } = useParams({ from: "/inside/$organization/workspaces/$workspace" });
  return { organization, name: workspace };
}

interface FrameProps {
  readonly part?: string;
  readonly actions?: (details: WorkspaceDetails) => ReactNode;
  readonly children: (details: WorkspaceDetails) => ReactNode;
}

export function WorkspaceFrame({ part, actions, children }: FrameProps) {
  const { organization, name } = useWorkspaceNames();
  const query = useQuery(workspaceNamed(organization, name));
  const canReadAuditLog = useRights(organization)?.["can-manage-auditing"];
  const response = dataUnlessDeleted(query);
  const details: WorkspaceDetails | undefined = response && {
    organization,
    workspace: response.data,
    included: response.included ?? [],
    etag: response.etag,
  };
  return (
    <Page
      title={name}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
      ]}
      part={part}
      about={details?.workspace.attributes.description}
      actions={
        details && (
          <>
            {actions?.(details)}
            <LockActions details={details} />
            <StartRun details={details} />
          </>
        )
      }
      tabs={tabsOf(organization, name, details?.workspace.attributes.permissions ?? {}, canReadAuditLog === true)}
    >
      <QueryContent query={query}>{() => details && children(details)}</QueryContent>
    </Page>
  );
}
