/** The agent pools of an organization, with the number of connected agents. */
import { Button, Checkbox, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { figure, When } from "../../ui/text.tsx";
import { agentPools } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

const liveMs = 10_000;

export default function AgentPoolsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useDisclosure();
  const { search } = useAddress();
  const rights = useRights(organization);
  const query = useQuery({
    ...agentPools(organization, search),
    refetchInterval: liveMs,
  });
  return (
    <Page
      title="Agent pools"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Agents run Terraform inside your own network, for workspaces in agent mode."
      actions={rights?.["can-update-agent-pools"] && <Button onClick={open}>New agent pool</Button>}
    >
      <List
        one="agent pool"
        label="Agent pools"
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No agent pools yet">
            Create a pool, start an agent with its token, then select the pool in a workspace's settings.
          </Empty>
        }
        columns={() => [
          {
            title: "Name",
            cell: ({ id, attributes }) => <Link to={paths.agentPool(organization, id)}>{attributes.name}</Link>,
          },
          { title: "Agents online", isFigure: true, cell: ({ attributes }) => figure(attributes["agent-count"]) },
          {
            title: "Scope",
            cell: ({ attributes }) => (attributes["organization-scoped"] ? "all workspaces" : "selected workspaces"),
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
        ]}
      />
      <FormDialog opened={opened} onClose={close} title="New agent pool">
        <NewPool organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

function NewPool({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const go = useGo();
  const draft = useDraft({ name: "", "organization-scoped": true });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/agent-pools"
      done={({ data }) => `Created agent pool ${data.attributes.name}.`}
      after={({ data }) => go(paths.agentPool(organization, data.id))}
      verb="Create agent pool"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "agent-pools", attributes } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <Checkbox
        label="Available to all workspaces"
        description="When off, you select projects and workspaces next."
        {...draft.getInputProps("organization-scoped", { type: "checkbox" })}
      />
    </OperationForm>
  );
}
