/** The agent pools of the site. Their agents execute runs of workspaces in remote mode, in any organization. */
import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { paths } from "../../paths.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { figure, When } from "../../ui/text.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteAgentPools } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

const liveMs = 10_000;

export default function SiteAgentPoolsPage() {
  const [opened, { open, close }] = useDisclosure();
  return (
    <SiteFrame actions={<Button onClick={open}>New agent pool</Button>}>
      <Pools />
      <FormDialog opened={opened} onClose={close} title="New site agent pool">
        <NewPool onClose={close} />
      </FormDialog>
    </SiteFrame>
  );
}

function Pools() {
  const { search } = useAddress();
  const query = useQuery({
    ...siteAgentPools(search),
    refetchInterval: liveMs,
  });
  return (
    <List
      one="agent pool"
      label="Agent pools"
      query={query}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No site agent pools yet">
          Remote runs use the server's own workers. Create a pool to run them on other machines, for all organizations.
        </Empty>
      }
      columns={() => [
        { title: "Name", cell: ({ id, attributes }) => <Link to={paths.siteAgentPool(id)}>{attributes.name}</Link> },
        { title: "Agents online", isFigure: true, cell: ({ attributes }) => figure(attributes["agent-count"]) },
        { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
      ]}
    />
  );
}

function NewPool({ onClose }: { readonly onClose: () => void }) {
  const go = useGo();
  const draft = useDraft({ name: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /admin/agent-pools"
      done={({ data }) => `Created agent pool ${data.attributes.name}.`}
      after={({ data }) => go(paths.siteAgentPool(data.id))}
      verb="Create agent pool"
      onCancel={onClose}
      input={(attributes) => ({ body: { data: { type: "agent-pools", attributes } } })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
    </OperationForm>
  );
}
