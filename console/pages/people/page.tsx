/** The people of an organization, members and invited, with their teams. */
import { Badge, Button, Group, MultiSelect, Select, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress, useOpened } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { EmailInput, isEmail } from "../../ui/inputs.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { SecretOnce } from "../../ui/secret.tsx";
import { Empty } from "../../components/states.tsx";
import type { TableColumn } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";
import { RenewLink, RemoveMember } from "./member-actions.tsx";
import { allTeams, people } from "../../api/list-queries.ts";

export default function PeoplePage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useOpened("invite");
  const { search, set } = useAddress();
  const rights = useRights(organization);
  const canManage = rights?.["can-manage-memberships"] === true;
  const query = useQuery(people(organization, search));
  return (
    <Page
      title="People"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={canManage && <Button onClick={open}>Invite member</Button>}
    >
      <List
        one="person"
        many="people"
        label="People"
        query={query}
        keyOf={({ id }) => id}
        filters={
          <Select
            aria-label="Status"
            placeholder="Any status"
            data={[
              { value: "active", label: "Members" },
              { value: "invited", label: "Invited" },
            ]}
            value={search["status"] ?? null}
            onChange={(status) => set({ status: status ?? undefined, page: undefined })}
            clearable
            clearButtonProps={{ "aria-label": "Any status" }}
            w={180}
          />
        }
        empty={<Empty title="No people yet">Invite people by email.</Empty>}
        columns={(response) => columnsOf(response, organization, canManage)}
      />
      <FormDialog opened={opened} onClose={close} title={`Invite a member to ${organization}`}>
        <Invite organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

type MembershipsResponse = OperationResponse<"GET /organizations/{organization_name}/organization-memberships">;

const columnsOf = (
  response: MembershipsResponse,
  organization: string,
  canManage: boolean,
): TableColumn<MembershipsResponse["data"][number]>[] => [
  {
    title: "Person",
    cell: ({ attributes, relationships }) => {
      const user = includedIn(response, "users", relationships.user?.data?.id);
      return (
        <Group gap="xs">
          {user ? (
            <Link to={paths.person(organization, user.id)}>{user.attributes.username || attributes.email}</Link>
          ) : (
            attributes.email
          )}
          {attributes.status === "invited" && <Badge color="yellow">Invited</Badge>}
        </Group>
      );
    },
  },
  { title: "Email", isExtra: true, cell: ({ attributes }) => attributes.email },
  {
    title: "Teams",
    cell: ({ relationships }) => (
      <Group gap={6}>
        {(relationships.teams?.data ?? []).map(({ id }) => (
          <Link key={id} to={paths.team(organization, id)} c="inherit">
            {includedIn(response, "teams", id)?.attributes.name ?? id}
          </Link>
        ))}
      </Group>
    ),
  },
  { title: "Joined", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
  {
    title: "Actions",
    width: 1,
    cell: ({ id, attributes }) =>
      canManage && (
        <Group gap={4} wrap="nowrap" justify="flex-end">
          {attributes.status === "invited" && <RenewLink membershipId={id} email={attributes.email} />}
          <RemoveMember organization={organization} membershipId={id} name={attributes.email} isQuiet />
        </Group>
      ),
  },
];

function Invite({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const teams = useQuery(allTeams(organization));
  const draft = useDraft({ email: "", teams: [] as string[] });
  const { email } = draft.getValues();
  const check = () => {
    if (email !== "" && !isEmail(email)) draft.setFieldError("email", "Enter a valid email address");
  };
  if (link !== undefined)
    return (
      <Stack>
        <SecretOnce title={`Invited ${email}`} label="Invitation link" secret={link}>
          Send it to them. The link can be used once and expires in 7 days.
        </SecretOnce>
        <Button onClick={onClose} ml="auto" display="block">
          I have copied it
        </Button>
      </Stack>
    );
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/organization-memberships"
      done={({ data }) =>
        data.attributes.status === "active" ? `Added ${data.attributes.email}.` : `Invited ${data.attributes.email}.`
      }
      after={({ data }) => {
        const url = data.attributes["invitation-url"];
        if (url) setLink(url);
        else onClose();
      }}
      verb="Invite"
      isReady={isEmail(email)}
      onCancel={onClose}
      input={({ email, teams }) => ({
        path: { organization_name: organization },
        body: {
          data: {
            type: "organization-memberships",
            attributes: { email },
            relationships: { teams: { data: teams.map((id) => ({ type: "teams", id })) } },
          },
        },
      })}
    >
      <EmailInput
        description="People with an account become members immediately. Others get an invitation link."
        {...draft.getInputProps("email")}
        onBlur={check}
        onKeyDown={(event) => event.key === "Enter" && check()}
        data-autofocus
      />
      <MultiSelect
        label="Teams"
        description="All access comes from teams."
        data={teams.data?.data.map(({ id, attributes }) => ({ value: id, label: attributes.name })) ?? []}
        searchable
        {...draft.getInputProps("teams")}
      />
    </OperationForm>
  );
}
