/** The forms that add a member to a team, and change a membership's expiry and reason. */
import { Button, Select, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { includedIn } from "../../api/client.ts";
import { pagedQuery } from "../../api/queries.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { type Expiry, expiryFault, expiryInstant } from "../../ui/expiry.ts";
import { ExpiryInput } from "../../ui/expiry-input.tsx";
import { OperationForm, type FormDraft, useDraft } from "../../components/forms.tsx";
import type { TeamDetails } from "./frame.tsx";

export interface Membership {
  readonly id: string;
  readonly name: string;
  readonly until: string | null;
  readonly reason: string | null;
}

/** Invited people have no user name yet. */
export const idOf = ({ name, id }: Membership) => (name === "invited" ? id : name);

interface MembershipDraft {
  readonly person: string;
  readonly "expires-at": Expiry;
  readonly reason: string;
}

/** The same request adds a member and changes the expiry and reason of an existing one. */
const membershipInput = (teamId: string, { person, "expires-at": expiry, reason }: MembershipDraft) => ({
  path: { team_id: teamId },
  body: {
    data: [
      { type: "users" as const, id: person, meta: { "expires-at": expiryInstant(expiry), reason: reason || null } },
    ],
  },
});

function MembershipFields({ draft }: { readonly draft: FormDraft<MembershipDraft> }) {
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

export function AddMember({ organization, team, onClose }: TeamDetails & { readonly onClose: () => void }) {
  const draft = useDraft<MembershipDraft>({ person: "", "expires-at": null, reason: "" });
  const { person, "expires-at": expiry } = draft.getValues();
  return (
    <OperationForm
      draft={draft}
      operation="POST /teams/{team_id}/relationships/users"
      done={(_, { body }) => `Added ${body.data[0]?.id} to ${team.attributes.name}.`}
      after={onClose}
      verb="Add member"
      isReady={person !== "" && expiryFault(expiry) === undefined}
      onCancel={onClose}
      input={(values) => membershipInput(team.id, values)}
    >
      <PersonSelect organization={organization} {...draft.getInputProps("person")} />
      <MembershipFields draft={draft} />
    </OperationForm>
  );
}

export interface MemberProps {
  readonly details: TeamDetails;
  readonly member: Membership;
}

export function ChangeMember({ details, member }: MemberProps) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="subtle" size="compact-xs" aria-label={`Change expiry of ${member.name}`} onClick={open}>
        Change expiry
      </Button>
      <FormDialog opened={opened} onClose={close} title={`${member.name} in ${details.team.attributes.name}`}>
        <ChangeMemberForm details={details} member={member} onClose={close} />
      </FormDialog>
    </>
  );
}

function ChangeMemberForm({ details: { team }, member, onClose }: MemberProps & { readonly onClose: () => void }) {
  const { until, reason } = member;
  const draft = useDraft<MembershipDraft>({
    person: idOf(member),
    "expires-at": until === null ? null : { at: until },
    reason: reason ?? "",
  });
  return (
    <OperationForm
      draft={draft}
      operation="POST /teams/{team_id}/relationships/users"
      done={`Changed the membership of ${member.name}.`}
      after={onClose}
      verb="Save"
      isReady={draft.isDirty() && expiryFault(draft.getValues()["expires-at"]) === undefined}
      onCancel={onClose}
      input={(values) => membershipInput(team.id, values)}
    >
      <MembershipFields draft={draft} />
    </OperationForm>
  );
}

interface PersonSelectProps {
  readonly organization: string;
  readonly value?: string;
  readonly onChange?: (value: string | null) => void;
}

function PersonSelect({ organization, value, onChange }: PersonSelectProps) {
  const [typed, setTyped] = useState("");
  const [q] = useDebouncedValue(typed.trim(), 150);
  const people = useQuery(
    pagedQuery("GET /organizations/{organization_name}/organization-memberships", {
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
