/** The members of a team, with expiry and reason; adds, changes and removes them. */
import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { account } from "../../api/queries.ts";
import { RequestAccess } from "../../components/request-access.tsx";
import { paths } from "../../paths.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { Expires, counted } from "../../ui/text.tsx";
import { Link } from "../../ui/link.tsx";
import { Empty } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { TeamFrame, type TeamDetails } from "./frame.tsx";
import { AddMember, ChangeMember, idOf, type MemberProps, type Membership } from "./member-forms.tsx";

export default function TeamMembersPage() {
  const [opened, { open, close }] = useDisclosure();
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-membership"] ? (
          <Button onClick={open}>Add member</Button>
        ) : (
          <RequestToJoin team={team} />
        )
      }
    >
      {(details) => (
        <>
          <Members {...details} />
          <FormDialog opened={opened} onClose={close} title={`Add a member to ${details.team.attributes.name}`}>
            <AddMember {...details} onClose={close} />
          </FormDialog>
        </>
      )}
    </TeamFrame>
  );
}

function RequestToJoin({ team }: Pick<TeamDetails, "team">) {
  const me = useQuery(account()).data?.data.id;
  const isMember = team.relationships.users?.data?.some(({ id }) => id === me);
  return me === undefined || isMember ? null : <RequestAccess verb="Request to join" />;
}

function membersOf({ response, team }: TeamDetails): Membership[] {
  return (team.relationships.users?.data ?? []).map(({ id, meta }) => ({
    id,
    name: includedIn(response, "users", id)?.attributes.username || "invited",
    until: meta?.["expires-at"] ?? null,
    reason: meta?.reason ?? null,
  }));
}

function Members(details: TeamDetails) {
  const { organization, team } = details;
  const members = membersOf(details);
  const canUpdate = team.attributes.permissions["can-update-membership"];
  if (members.length === 0)
    return (
      <Empty title="No members yet">
        {canUpdate
          ? "Add members, permanently or with an expiry."
          : "Owners and teams that manage membership can add members."}
      </Empty>
    );
  return (
    <>
      <Table
        label={`Members of ${team.attributes.name}`}
        rows={members}
        keyOf={({ id }) => id}
        columns={[
          { title: "Person", cell: ({ id, name }) => <Link to={paths.person(organization, id)}>{name}</Link> },
          { title: "Expires", cell: ({ until }) => <Expires time={until} /> },
          { title: "Reason", isExtra: true, cell: ({ reason }) => reason ?? "–" },
          {
            title: "Actions",
            width: 1,
            cell: (member) =>
              canUpdate && (
                <Group gap={4} wrap="nowrap" justify="flex-end">
                  <ChangeMember details={details} member={member} />
                  <Remove details={details} member={member} />
                </Group>
              ),
          },
        ]}
      />
      <span>{counted(members.length, "member")}</span>
    </>
  );
}

function Remove({ details: { team }, member }: MemberProps) {
  const { name } = team.attributes;
  const remove = useAction("DELETE /teams/{team_id}/relationships/users", {
    done: `Removed ${member.name} from ${name}.`,
  });
  return (
    <DangerButton
      isQuiet
      verb="Remove"
      label={`Remove ${member.name}`}
      title={`Remove ${member.name} from ${name}?`}
      isBusy={remove.isPending}
      onConfirm={() =>
        remove.mutate({
          path: { team_id: team.id },
          body: { data: [{ type: "users", id: idOf(member) }] },
        })
      }
    >
      {member.name} immediately loses the access that only {name} gives. The Reach tab shows what the team can access.
    </DangerButton>
  );
}
