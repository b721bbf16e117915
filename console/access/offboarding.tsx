/** When somebody leaves: what they hold, each with its button, and what would change before it is done. */
import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { includedIn } from "../api/client.ts";
import { askingWhole } from "../api/whole.ts";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { Section } from "../ui/page.tsx";
import { Asked, Empty, LoadingRows } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Locks, Tokens } from "./held.tsx";
import { type Change, leavingOrganization, leavingTeam } from "./changes.ts";
import { Preview } from "./preview.tsx";
import { onDay } from "./words.ts";

export interface OffboardingProps {
  readonly organization: string;
  readonly user: { readonly id: string; readonly name: string };
}

export function Offboarding(props: OffboardingProps) {
  // What can be done comes with the membership, and would push the rest down.
  if (useMembership(props).query.isLoading) return <LoadingRows rows={10} />;
  return (
    <Stack gap={0}>
      <Memberships {...props} />
      <Locks {...props} />
      <Tokens {...props} />
    </Stack>
  );
}

// ---- teams, and the organization ----

interface Leaving {
  readonly key: string;
  readonly verb: string;
  readonly done: string;
  readonly changes: readonly Change[];
}

function useMembership({ organization, user }: OffboardingProps) {
  const query = useQuery(
    askingWhole("GET /organizations/{organization_name}/organization-memberships", {
      path: { organization_name: organization },
      query: { q: user.name, include: "teams,user" },
    }),
  );
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

/** Everything that can be asked for: out of a team, out of all of them, out of the organization. */
function leavingsOf({ organization, user }: OffboardingProps, teams: readonly Team[], membership: string | undefined) {
  const outOf = ({ id, name }: Team): Leaving => ({
    key: id,
    verb: `Remove from ${name}`,
    done: `${user.name} is no longer in ${name}.`,
    changes: [leavingTeam(id, user.name)],
  });
  const outOfAll: Leaving = {
    key: "all teams",
    verb: "Remove from all teams",
    done: `${user.name} is in no team any more.`,
    changes: teams.map(({ id }) => leavingTeam(id, user.name)),
  };
  const outOfHere: Leaving = {
    key: "organization",
    verb: `Remove from ${organization}`,
    done: `${user.name} is no longer a member of ${organization}.`,
    changes: [leavingOrganization(membership ?? "")],
  };
  return { outOf, outOfAll, outOfHere };
}

function Memberships(props: OffboardingProps) {
  const { organization, user } = props;
  const { query, membership, teams } = useMembership(props);
  const { outOf, outOfAll, outOfHere } = leavingsOf(props, teams, membership?.id);
  const [leaving, setLeaving] = useState<Leaving>();
  const close = () => setLeaving(undefined);
  return (
    <Section
      title="Teams"
      about="Everything that somebody may do comes from teams. What goes with one is told before anybody is removed."
      actions={
        membership && (
          <>
            {teams.length > 1 && (
              <Button variant="default" onClick={() => setLeaving(outOfAll)}>
                Remove from all teams…
              </Button>
            )}
            <Button variant="default" onClick={() => setLeaving(outOfHere)}>
              Remove from the organization…
            </Button>
          </>
        )
      }
    >
      <Asked query={query} loading={<LoadingRows rows={2} />}>
        {() =>
          teams.length === 0 ? (
            <Empty title={membership ? "In no team" : "Not a member"}>
              {membership
                ? `${user.name} is a member of ${organization}, and in no team that you may see.`
                : `There is no membership of ${user.name} that you may see.`}
            </Empty>
          ) : (
            <Teams organization={organization} teams={teams} onLeave={(team) => setLeaving(outOf(team))} />
          )
        }
      </Asked>
      {leaving && (
        <Preview
          key={leaving.key}
          organization={organization}
          changes={leaving.changes}
          verb={leaving.verb}
          color="red"
          done={leaving.done}
          after={close}
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
        { title: "Until", cell: ({ until }) => (until ? onDay(until) : "for ever") },
        { title: "Reason", cell: ({ reason }) => reason ?? "–", isExtra: true },
        {
          title: "What can be done",
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
