/** Offboarding: a person's teams, locks and tokens, each with its action, and a preview before anything is removed. */
import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { includedIn } from "../api/client.ts";
import { membershipsLike } from "../api/detail-queries.ts";
import { paths } from "../paths.ts";
import { Expires } from "../ui/text.tsx";
import { Link, useGo } from "../ui/link.tsx";
import { Section } from "../ui/page.tsx";
import { QueryContent, Empty, LoadingRows } from "../components/states.tsx";
import { Table } from "../ui/table.tsx";
import { Locks, Tokens, type OffboardingProps } from "./grants.tsx";
import { type AccessChange, leaveOrganizationChange, leaveTeamChange } from "./changes.ts";
import { Preview } from "./preview.tsx";

export function Offboarding(props: OffboardingProps) {
  // The actions load with the membership, and would shift the layout.
  if (useMembership(props).query.isLoading) return <LoadingRows rows={10} />;
  return (
    <Stack gap={0}>
      <Memberships {...props} />
      <Locks {...props} />
      <Tokens {...props} />
    </Stack>
  );
}

interface RemovalChoice {
  readonly key: string;
  readonly verb: string;
  readonly done: string;
  readonly changes: readonly AccessChange[];
}

export function useMembership({ organization, user }: OffboardingProps) {
  const query = useQuery(membershipsLike(organization, user));
  const membership = query.data?.data.find(({ relationships }) => relationships.user?.data?.id === user.id);
  const teams = (membership?.relationships.teams?.data ?? []).map(({ id, meta }) => ({
    id,
    name: includedIn(query.data, "teams", id)?.attributes.name ?? id,
    until: meta?.["expires-at"],
    reason: meta?.reason,
  }));
  return { query, membership, teams };
}

type Team = ReturnType<typeof useMembership>["teams"][number];

const organizationKey = "organization";

function removalChoicesOf(
  { organization, user }: OffboardingProps,
  teams: readonly Team[],
  membership: string | undefined,
) {
  const fromTeam = ({ id, name }: Team): RemovalChoice => ({
    key: id,
    verb: `Remove from ${name}`,
    done: `Removed ${user.name} from ${name}.`,
    changes: [leaveTeamChange(id, user.name)],
  });
  const fromAllTeams: RemovalChoice = {
    key: "all teams",
    verb: "Remove from all teams",
    done: `Removed ${user.name} from all teams.`,
    changes: teams.map(({ id }) => leaveTeamChange(id, user.name)),
  };
  const fromOrganization: RemovalChoice = {
    key: organizationKey,
    verb: `Remove from ${organization}`,
    done: `Removed ${user.name} from ${organization}.`,
    changes: [leaveOrganizationChange(membership ?? "")],
  };
  return { fromTeam, fromAllTeams, fromOrganization };
}

function Memberships(props: OffboardingProps) {
  const { organization, user } = props;
  const { query, membership, teams } = useMembership(props);
  const { fromTeam, fromAllTeams, fromOrganization } = removalChoicesOf(props, teams, membership?.id);
  const [leaving, setLeaving] = useState<RemovalChoice>();
  const go = useGo();
  const close = () => setLeaving(undefined);
  return (
    <Section
      title="Teams"
      about="All access comes from teams. You see what would change before you remove anyone."
      actions={
        membership && (
          <>
            {teams.length > 1 && (
              <Button variant="default" onClick={() => setLeaving(fromAllTeams)}>
                Remove from all teams…
              </Button>
            )}
            <Button variant="default" onClick={() => setLeaving(fromOrganization)}>
              Remove from organization…
            </Button>
          </>
        )
      }
    >
      <QueryContent query={query} loading={<LoadingRows rows={2} />}>
        {() =>
          teams.length === 0 ? (
            <Empty title={membership ? "Not in any team" : "Not a member"}>
              {membership
                ? `${user.name} is a member of ${organization}, but not in any team that you can see.`
                : `${user.name} is not a member of ${organization}, or you can't see the membership.`}
            </Empty>
          ) : (
            <Teams organization={organization} teams={teams} onLeave={(team) => setLeaving(fromTeam(team))} />
          )
        }
      </QueryContent>
      {leaving && (
        <Preview
          key={leaving.key}
          organization={organization}
          changes={leaving.changes}
          verb={leaving.verb}
          color="red"
          done={leaving.done}
          after={leaving.key === organizationKey ? () => go(paths.people(organization)) : close}
          onCancel={close}
        />
      )}
    </Section>
  );
}

interface TeamsProps {
  readonly organization: string;
  readonly teams: readonly Team[];
  readonly onLeave: (team: Team) => void;
}

function Teams({ organization, teams, onLeave }: TeamsProps) {
  return (
    <Table
      label="Teams"
      rows={teams}
      keyOf={({ id }) => id}
      columns={[
        { title: "Team", cell: ({ id, name }) => <Link to={paths.team(organization, id)}>{name}</Link> },
        { title: "Expires", cell: ({ until }) => <Expires time={until} /> },
        { title: "Reason", cell: ({ reason }) => reason ?? "–", isExtra: true },
        {
          title: "Actions",
          width: 200,
          cell: (team) => (
            <Button variant="subtle" size="compact-xs" onClick={() => onLeave(team)}>
              Remove from {team.name}…
            </Button>
          ),
        },
      ]}
    />
  );
}
