/** The members of a team, with their expiry and reason; adds, changes and removes them. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { Expires } from "../../ui/expires.tsx";
import { type Expiry, expiryFault, momentOf } from "../../ui/ends.ts";
import { ExpiryInput } from "../../ui/expiry-input.tsx";
import { ActionForm, type Draft, useDraft } from "../../ui/form.tsx";
import { Link } from "../../ui/link.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { counted } from "../../ui/text.tsx";
import { TeamFrame, type TeamPlace } from "./frame.tsx";

export default function TeamMembersPage() {
  const [opened, { open, close }] = useDisclosure();
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-membership"] && <Button onClick={open}>Add member</Button>
      }
    >
      {(place) => (
        <>
          <Members {...place} />
          <FormDialog opened={opened} onClose={close} title={`Add a member to ${place.team.attributes.name}`}>
            <AddMember {...place} onClose={close} />
          </FormDialog>
        </>
      )}
    </TeamFrame>
  );
}

/** The expiry and reason come with the relationship. */
interface Membership {
  readonly id: string;
  readonly name: string;
  readonly until: string | null;
  readonly reason: string | null;
}

function membersOf({ answer, team }: TeamPlace): Membership[] {
  return (team.relationships.users?.data ?? []).map(({ id, meta }) => ({
    id,
    name: includedIn(answer, "users", id)?.attributes.username || "invited",
    until: meta?.["expires-at"] ?? null,
    reason: meta?.reason ?? null,
  }));
}

function Members(place: TeamPlace) {
  const { organization, team } = place;
  const members = membersOf(place);
  const mayUpdate = team.attributes.permissions["can-update-membership"];
  if (members.length === 0)
    return (
      <Empty title="No members yet">
        {mayUpdate
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
              mayUpdate && (
                <Group gap={4} wrap="nowrap" justify="flex-end">
                  <ChangeMember place={place} member={member} />
                  <Remove place={place} member={member} />
                </Group>
              ),
          },
        ]}
      />
      <span>{counted(members.length, "member")}</span>
    </>
  );
}

function Remove({ place: { team }, member }: MemberProps) {
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

/** People are named by their user names; those who are invited have none yet. */
const idOf = ({ name, id }: Membership) => (name === "invited" ? id : name);

interface SeatDraft {
  readonly person: string;
  readonly "expires-at": Expiry;
  readonly reason: string;
}

/** The same request adds somebody and changes the expiry and reason of a member. */
const seatInput = (teamId: string, { person, "expires-at": expiry, reason }: SeatDraft) => ({
  path: { team_id: teamId },
  body: {
    data: [{ type: "users", id: person, meta: { "expires-at": momentOf(expiry), reason: reason || null } }],
  } as never,
});

/** When the seat ends, and why it was given. */
function SeatFields({ draft }: { readonly draft: Draft<SeatDraft> }) {
  return (
    <>
      <ExpiryInput never="The membership has no expiry." {...draft.getInputProps("expires-at")} />
      <TextInput
        label="Reason"
        placeholder="On call over the holidays"
        description="Shown when someone asks why."
        {...draft.getInputProps("reason")}
      />
    </>
  );
}

function AddMember({ organization, team, onClose }: TeamPlace & { readonly onClose: () => void }) {
  const draft = useDraft<SeatDraft>({ person: "", "expires-at": null, reason: "" });
  const add = useAction("POST /teams/{team_id}/relationships/users", {
    done: (_, { body }) => `Added ${body.data[0]?.id} to ${team.attributes.name}.`,
    refusal: "form",
    after: onClose,
  });
  const { person, "expires-at": expiry } = draft.getValues();
  return (
    <ActionForm
      draft={draft}
      action={add}
      verb="Add member"
      isReady={person !== "" && expiryFault(expiry) === undefined}
      onCancel={onClose}
      input={(values) => seatInput(team.id, values)}
    >
      <PersonSelect organization={organization} {...draft.getInputProps("person")} />
      <SeatFields draft={draft} />
    </ActionForm>
  );
}

interface MemberProps {
  readonly place: TeamPlace;
  readonly member: Membership;
}

function ChangeMember({ place, member }: MemberProps) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="subtle" size="compact-xs" aria-label={`Change expiry of ${member.name}`} onClick={open}>
        Change expiry
      </Button>
      <FormDialog opened={opened} onClose={close} title={`${member.name} in ${place.team.attributes.name}`}>
        <ChangeMemberForm place={place} member={member} onClose={close} />
      </FormDialog>
    </>
  );
}

function ChangeMemberForm({ place: { team }, member, onClose }: MemberProps & { readonly onClose: () => void }) {
  const { until, reason } = member;
  const draft = useDraft<SeatDraft>({
    person: idOf(member),
    "expires-at": until === null ? null : { at: until },
    reason: reason ?? "",
  });
  const change = useAction("POST /teams/{team_id}/relationships/users", {
    done: `Changed the membership of ${member.name}.`,
    refusal: "form",
    after: onClose,
  });
  return (
    <ActionForm
      draft={draft}
      action={change}
      verb="Save"
      isReady={draft.isDirty() && expiryFault(draft.getValues()["expires-at"]) === undefined}
      onCancel={onClose}
      input={(values) => seatInput(team.id, values)}
    >
      <SeatFields draft={draft} />
    </ActionForm>
  );
}

interface PersonSelectProps {
  readonly organization: string;
  readonly value?: string;
  readonly onChange?: (value: string | null) => void;
}

/** Searches members of the organization while one types. */
function PersonSelect({ organization, value, onChange }: PersonSelectProps) {
  const [typed, setTyped] = useState("");
  const [q] = useDebouncedValue(typed.trim(), 150);
  const people = useQuery(
    askingOn("GET /organizations/{organization_name}/organization-memberships", {
      path: { organization_name: organization },
      query: { q, include: "user", "filter[status]": "active", "page[size]": 20 },
    }),
  ).data;
  const names = (people?.data ?? []).flatMap(({ relationships, attributes }) => {
    const name = includedIn(people, "users", relationships.user?.data?.id)?.attributes.username;
    return name ? [{ value: name, label: `${name} (${attributes.email})` }] : [];
  });
  return (
    <Select
      label="Person"
      description="A member of the organization. Invite others first, on the People page."
      data={value && !names.some((one) => one.value === value) ? [{ value, label: value }, ...names] : names}
      value={value || null}
      onChange={onChange}
      searchable
      filter={({ options }) => options}
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="No matching people"
      data-autofocus
    />
  );
}
