/** The variable sets of an organization. */
import { Badge, Button, Checkbox, Group, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Resource } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { counted, figure, When } from "../../ui/text.tsx";
import { variableSets } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

export default function VariableSetsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useDisclosure();
  const { search } = useAddress();
  const rights = useRights(organization);
  const query = useQuery(variableSets(organization, search));
  return (
    <Page
      title="Variable sets"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Variables shared by many projects or workspaces."
      actions={rights?.["can-create-workspace"] && <Button onClick={open}>New variable set</Button>}
    >
      <List
        one="variable set"
        label="Variable sets"
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No variable sets yet">
            Use one for values that many workspaces need, such as cloud credentials.
          </Empty>
        }
        columns={() => [
          {
            title: "Name",
            cell: ({ id, attributes }) => (
              <Group gap="xs">
                <Link to={paths.variableSet(organization, id)}>{attributes.name}</Link>
                {attributes.priority && <Badge>priority</Badge>}
              </Group>
            ),
          },
          { title: "Applies to", cell: (set) => whereOf(set) },
          { title: "Variables", isFigure: true, cell: ({ attributes }) => figure(attributes["var-count"]) },
          { title: "Changed", isExtra: true, cell: ({ attributes }) => <When time={attributes["updated-at"]} /> },
        ]}
      />
      <FormDialog opened={opened} onClose={close} title="New variable set">
        <NewVariableSet organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

export function whereOf({ attributes }: Resource<"varsets">): string {
  if (attributes.global) return "all workspaces";
  const { "project-count": projects, "workspace-count": workspaces } = attributes;
  const parts = [
    ...(projects > 0 ? [counted(projects, "project")] : []),
    ...(workspaces > 0 ? [counted(workspaces, "workspace")] : []),
  ];
  return parts.join(", ") || "no workspaces yet";
}

function NewVariableSet({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const go = useGo();
  const draft = useDraft({ name: "", description: "", global: false, priority: false });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/varsets"
      done={({ data }) => `Created variable set ${data.attributes.name}.`}
      after={({ data }) => go(paths.variableSet(organization, data.id))}
      verb="Create variable set"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "varsets", attributes } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <TextInput label="Description" {...draft.getInputProps("description")} />
      <Checkbox
        label="Apply to all workspaces"
        description="When off, you select projects and workspaces next."
        {...draft.getInputProps("global", { type: "checkbox" })}
      />
      <Checkbox
        label="Priority"
        description="Its variables override workspace variables and command-line values."
        {...draft.getInputProps("priority", { type: "checkbox" })}
      />
    </OperationForm>
  );
}
