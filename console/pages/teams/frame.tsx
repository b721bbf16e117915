/** The frame of every page of a team. */
import { Badge } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { OperationResponse } from "../../api/client.ts";
import { team as teamQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, dataUnlessDeleted } from "../../components/states.tsx";

export interface TeamDetails {
  readonly organization: string;
  readonly response: OperationResponse<"GET /teams/{team_id}">;
  readonly team: OperationResponse<"GET /teams/{team_id}">["data"];
}

interface TeamFrameProps {
  readonly actions?: (details: TeamDetails) => ReactNode;
  readonly children: (details: TeamDetails) => ReactNode;
}

export function TeamFrame({ actions, children }: TeamFrameProps) {
  const { organization, team: id } = useParams({ from: "/inside/$organization/teams/$team" });
  const query = useQuery(teamQuery(id));
  const response = dataUnlessDeleted(query);
  const details = response && { organization, response, team: response.data };
  return (
    <Page
      title={query.data?.data.attributes.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Teams", to: paths.teams(organization) },
      ]}
      beside={details?.team.attributes.visibility === "secret" && <Badge color="gray">secret</Badge>}
      about={details?.team.attributes.description}
      actions={details && actions?.(details)}
      tabs={[
        { label: "Members", to: paths.team(organization, id) },
        { label: "Reach", to: paths.teamReach(organization, id) },
        { label: "Tokens", to: paths.teamTokens(organization, id) },
        ...(details?.team.attributes.permissions["can-update"]
          ? [{ label: "Notifications", to: paths.teamNotifications(organization, id) }]
          : []),
        { label: "Settings", to: paths.teamSettings(organization, id) },
      ]}
    >
      <QueryContent query={query}>{() => details && children(details)}</QueryContent>
    </Page>
  );
}
