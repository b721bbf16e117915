/** A person in an organization: their teams, with expiry and reason. */
import { useMembership } from "../../access/offboarding.tsx";
import { includedIn } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Expires, Identifier, When } from "../../ui/text.tsx";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { QueryContent, Empty, LoadingRows } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { wordsOf } from "../teams/words.ts";
import { PersonFrame, personOf, type PersonDetails } from "./frame.tsx";
import { RemoveMember } from "./member-actions.tsx";

export default function PersonPage() {
  return (
    <PersonFrame actions={(details) => <Remove {...details} />}>
      {(details) => (
        <>
          <Teams {...details} />
          <About {...details} />
        </>
      )}
    </PersonFrame>
  );
}

function Remove(details: PersonDetails) {
  const go = useGo();
  const { membership } = useMembership(personOf(details));
  const rights = useRights(details.organization);
  if (!membership || !rights?.["can-manage-memberships"]) return null;
  return (
    <RemoveMember
      organization={details.organization}
      membershipId={membership.id}
      name={details.user.attributes.username || membership.attributes.email}
      after={() => go(paths.people(details.organization), { replace: true })}
    />
  );
}

function Teams(details: PersonDetails) {
  const { organization, user } = details;
  const { query, membership } = useMembership(personOf(details));
  return (
    <Section title="Teams" about="All access comes from teams.">
      <QueryContent query={query} loading={<LoadingRows rows={3} />}>
        {(response) => {
          const teams = membership?.relationships.teams?.data ?? [];
          if (teams.length === 0)
            return (
              <Empty title={membership ? "Not in any team" : `Not a member of ${organization}`}>
                {membership
                  ? `Add ${user.attributes.username} on a team's page.`
                  : "Site admins see everything without being members."}
              </Empty>
            );
          return (
            <Table
              label="Teams"
              rows={teams}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Team",
                  cell: ({ id }) => (
                    <Link to={paths.team(organization, id)}>
                      {includedIn(response, "teams", id)?.attributes.name ?? id}
                    </Link>
                  ),
                },
                { title: "Expires", cell: ({ meta }) => <Expires time={meta?.["expires-at"]} /> },
                { title: "Reason", isExtra: true, cell: ({ meta }) => meta?.reason ?? "–" },
                {
                  title: "Organization access",
                  isExtra: true,
                  cell: ({ id }) => {
                    const team = includedIn(response, "teams", id);
                    return team && wordsOf(team.attributes["organization-access"], team.attributes.name);
                  },
                },
              ]}
            />
          );
        }}
      </QueryContent>
    </Section>
  );
}

function About({ user }: PersonDetails) {
  const { attributes, id } = user;
  return (
    <Section title="About">
      <DescriptionList
        items={[
          ["ID", <Identifier key="id" value={id} />],
          ["Created", <When key="since" time={attributes["created-at"]} />],
          ...(attributes["is-site-admin"] ? ([["Site admin", "has owner access to every organization"]] as const) : []),
        ]}
      />
    </Section>
  );
}
