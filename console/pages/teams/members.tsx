/** The people of a team: who, until when and why; one more, or one less. */
import { Button, Select, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { Link } from "../../ui/link.tsx";
import { MomentInput } from "../../ui/moment.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { counted, When } from "../../ui/text.tsx";
import { TeamFrame, type TeamPlace } from "./frame.tsx";

export default function TeamMembersPage() {
  const [opened, { open, close }] = useDisclosure();
  return (
    <TeamFrame
      actions={({ team }) =>
        team.attributes.permissions["can-update-membership"] && <Button onClick={open}>Add somebody</Button>
      }
    >
      {(place) => (
        <>
          <Members {...place} />
          <FormDialog opened={opened} onClose={close} title={`Add somebody to ${place.team.attributes.name}`}>
            <AddMember {...place} onClose={close} />
          </FormDialog>
        </>
      )}
    </TeamFrame>
  );
}

/** How long, and why, is said beside each person by the relationship. */
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
      <Empty title="Nobody is in this team">
        {mayUpdate
          ? "Add people, for good or until a moment."
          : "An owner, or a team that manages membership, adds people."}
      </Empty>
    );
  return (
    <>
      <Table
        label={`People of ${team.attributes.name}`}
        rows={members}
        keyOf={({ id }) => id}
        columns={[
          { title: "Person", cell: ({ id, name }) => <Link to={paths.person(organization, id)}>{name}</Link> },
          { title: "Until", cell: ({ until }) => <When time={until} none="for good" /> },
          { title: "Reason", isExtra: true, cell: ({ reason }) => reason ?? "–" },
          {
            title: "Actions",
            width: 1,
            cell: (member) => mayUpdate && <Remove place={place} member={member} />,
          },
        ]}
      />
      <span>{counted(members.length, "person", "people")}</span>
    </>
  );
}

function Remove({ place: { team }, member }: { readonly place: TeamPlace; readonly member: Membership }) {
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
          body: { data: [{ type: "users", id: member.name === "invited" ? member.id : member.name }] },
        })
      }
    >
      {member.name} loses whatever only {name} gives, at once. The tab Reach shows what the team can reach.
    </DangerButton>
  );
}

function AddMember({ organization, team, onClose }: TeamPlace & { readonly onClose: () => void }) {
  const draft = useDraft({ person: "", until: "", reason: "" });
  const add = useAction("POST /teams/{team_id}/relationships/users", {
    done: (_, { body }) => `Added ${body.data[0]?.id} to ${team.attributes.name}.`,
    refusal: "form",
    after: onClose,
  });
  return (
    <ActionForm
      draft={draft}
      action={add}
      verb="Add to the team"
      isReady={draft.getValues().person !== ""}
      onCancel={onClose}
      input={({ person, until, reason }) => ({
        path: { team_id: team.id },
        body: {
          data: [
            {
              type: "users",
              id: person,
              ...((until || reason) && {
                meta: { ...(until && { "expires-at": until }), ...(reason && { reason }) },
              }),
            },
          ],
        } as never,
      })}
    >
      <PersonSelect organization={organization} {...draft.getInputProps("person")} />
      <MomentInput
        label="Until"
        description="The membership ends by itself then. Empty: for good."
        {...draft.getInputProps("until")}
      />
      <TextInput
        label="Reason"
        placeholder="on call over the holidays"
        description="Shown wherever somebody asks why this access is there."
        {...draft.getInputProps("reason")}
      />
    </ActionForm>
  );
}

interface PersonSelectProps {
  readonly organization: string;
  readonly value?: string;
  readonly onChange?: (value: string | null) => void;
}

/** Found as one types, by the server. */
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
      description="A member of the organization. Others are invited first, on the page People."
      data={value && !names.some((one) => one.value === value) ? [{ value, label: value }, ...names] : names}
      value={value || null}
      onChange={onChange}
      searchable
      filter={({ options }) => options}
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="Nobody is called like that"
      data-autofocus
    />
  );
}
