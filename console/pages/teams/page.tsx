/** The teams of an organization. */
import { Badge, Button, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useOpened, useAddress } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { figure, When } from "../../ui/text.tsx";
import { wordsOf, visibilities } from "./words.ts";
import { teams } from "../../api/list-queries.ts";

export default function TeamsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useOpened("create");
  const { search } = useAddress();
  const rights = useRights(organization);
  const query = useQuery(teams(organization, search));
  return (
    <Page
      title="Teams"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={rights?.["can-create-team"] && <Button onClick={open}>New team</Button>}
    >
      <List
        one="team"
        label="Teams"
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title="No teams yet">You grant access to teams, and people are members of teams.</Empty>}
        columns={() => [
          {
            title: "Name",
            cell: ({ id, attributes }) => <Link to={paths.team(organization, id)}>{attributes.name}</Link>,
          },
          { title: "Members", isFigure: true, cell: ({ attributes }) => figure(attributes["users-count"]) },
          {
            title: "Organization access",
            isExtra: true,
            cell: ({ attributes }) => wordsOf(attributes["organization-access"], attributes.name),
          },
          {
            title: "Visibility",
            isExtra: true,
            cell: ({ attributes }) =>
              attributes.visibility === "secret" ? <Badge color="gray">Secret</Badge> : "Organization",
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
        ]}
      />
      <FormDialog opened={opened} onClose={close} title="New team">
        <NewTeam organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

function NewTeam({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const go = useGo();
  const draft = useDraft({ name: "", description: "", visibility: "organization" as "organization" | "secret" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/teams"
      done={({ data }) => `Created team ${data.attributes.name}.`}
      after={({ data }) => {
        onClose();
        go(paths.team(organization, data.id));
      }}
      verb="Create team"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "teams", attributes } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <TextInput label="Description" {...draft.getInputProps("description")} />
      <Select label="Visibility" data={visibilities} {...draft.getInputProps("visibility")} />
    </OperationForm>
  );
}
