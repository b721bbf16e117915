/** A person in an organization: their teams, with expiry and reason. */
import { useQuery } from "@tanstack/react-query";
import { includedIn } from "../../api/client.ts";
import { asking, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Expires, Identifier, When } from "../../ui/text.tsx";
import { Facts, Section } from "../../ui/page.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { Asked, Empty, LoadingRows } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { wordsOf } from "../teams/words.ts";
import { PersonFrame, type PersonPlace } from "./frame.tsx";
import { RemoveMember } from "./member-actions.tsx";

export default function PersonPage() {
  return (
    <PersonFrame actions={(place) => <Remove {...place} />}>
      {(place) => (
        <>
          <Teams {...place} />
          <About {...place} />
        </>
      )}
    </PersonFrame>
  );
}

/** Found by email or name. The search also returns people who share a part of it; they are left out here. */
function useMembership({ organization, user }: PersonPlace) {
  const { email, username } = user.attributes;
  const query = useQuery(
    asking("GET /organizations/{organization_name}/organization-memberships", {
      path: { organization_name: organization },
      query: { ...(email ? { "filter[email]": email } : { q: username }), include: "teams", "page[size]": 100 },
    }),
  );
  const membership = query.data?.data.find(({ relationships }) => relationships.user?.data?.id === user.id);
  return { query, membership };
}

function Remove(place: PersonPlace) {
  const go = useGo();
  const { membership } = useMembership(place);
  const rights = useRights(place.organization);
  if (!membership || !rights?.["can-manage-memberships"]) return null;
  return (
    <RemoveMember
      organization={place.organization}
      membershipId={membership.id}
      name={place.user.attributes.username || membership.attributes.email}
      after={() => go(paths.people(place.organization), { replace: true })}
    />
  );
}

function Teams(place: PersonPlace) {
  const { organization, user } = place;
  const { query, membership } = useMembership(place);
  return (
    <Section title="Teams" about="All access comes from teams.">
      <Asked query={query} loading={<LoadingRows rows={3} />}>
        {(answer) => {
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
                      {includedIn(answer, "teams", id)?.attributes.name ?? id}
                    </Link>
                  ),
                },
                { title: "Expires", cell: ({ meta }) => <Expires time={meta?.["expires-at"]} /> },
                { title: "Reason", isExtra: true, cell: ({ meta }) => meta?.reason ?? "–" },
                {
                  title: "Organization access",
                  isExtra: true,
                  cell: ({ id }) => {
                    const team = includedIn(answer, "teams", id);
                    return team && wordsOf(team.attributes["organization-access"], team.attributes.name);
                  },
                },
              ]}
            />
          );
        }}
      </Asked>
    </Section>
  );
}

function About({ user }: PersonPlace) {
  const { attributes, id } = user;
  return (
    <Section title="About">
      <Facts
        facts={[
          ["ID", <Identifier key="id" value={id} />],
          ["Created", <When key="since" time={attributes["created-at"]} />],
          ...(attributes["is-site-admin"] ? ([["Site admin", "has owner access to every organization"]] as const) : []),
        ]}
      />
    </Section>
  );
}
