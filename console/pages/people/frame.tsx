/** The frame of every page of a person in an organization. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, dataUnlessDeleted } from "../../components/states.tsx";
import { user as userQuery } from "../../api/detail-queries.ts";

export interface PersonDetails {
  readonly organization: string;
  readonly user: Resource<"users">;
}

interface PersonFrameProps {
  readonly actions?: (details: PersonDetails) => ReactNode;
  readonly children: (details: PersonDetails) => ReactNode;
}

export function PersonFrame({ actions, children }: PersonFrameProps) {
  const { organization, user: id } = useParams({ from: "/inside/$organization/people/$user" });
  const query = useQuery(userQuery(id));
  const response = dataUnlessDeleted(query);
  const details = response && { organization, user: response.data };
  return (
    <Page
      title={query.data ? query.data.data.attributes.username || "Invited" : " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "People", to: paths.people(organization) },
      ]}
      about={details?.user.attributes.email}
      actions={details && actions?.(details)}
      tabs={[
        { label: "Overview", to: paths.person(organization, id) },
        { label: "Reach", to: paths.personReach(organization, id) },
        { label: "Offboarding", to: paths.personLeaving(organization, id) },
      ]}
    >
      <QueryContent query={query}>{() => details && children(details)}</QueryContent>
    </Page>
  );
}

export const personOf = ({ organization, user }: PersonDetails) => ({
  organization,
  user: { id: user.id, name: user.attributes.username, email: user.attributes.email },
});
