/** The engine versions that workspaces can use. */
import { Badge, Button, Group, Switch, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { When } from "../../ui/text.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteVersions } from "../../api/list-queries.ts";

export default function SiteVersionsPage() {
  const [opened, { open, close }] = useDisclosure();
  const { search } = useAddress();
  const query = useQuery(siteVersions(search));
  return (
    <SiteFrame actions={<Button onClick={open}>Add version</Button>}>
      <List
        one="version"
        label="Versions"
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title="No versions yet" />}
        columns={() => [
          {
            title: "Version",
            cell: ({ attributes }) => (
              <Group gap="xs">
                <span className="mono">{attributes.version}</span>
                {attributes.beta && <Badge color="gray">beta</Badge>}
                {attributes.deprecated && <Badge color="yellow">deprecated</Badge>}
              </Group>
            ),
          },
          { title: "Enabled", cell: (version) => <Enabled version={version} /> },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
          { title: "Actions", width: 1, cell: (version) => <Remove version={version} /> },
        ]}
      />
      <FormDialog opened={opened} onClose={close} title="Add version">
        <AddVersion onClose={close} />
      </FormDialog>
    </SiteFrame>
  );
}

function Enabled({ version: { id, attributes } }: { readonly version: Resource<"terraform-versions"> }) {
  const { version, enabled } = attributes;
  const change = useAction("PATCH /admin/terraform-versions/{terraform_version_id}", {
    done: `${enabled ? "Disabled" : "Enabled"} ${version}.`,
  });
  return (
    <Switch
      checked={enabled}
      disabled={change.isPending}
      aria-label={`Enable ${version}`}
      onChange={() =>
        change.mutate({
          path: { terraform_version_id: id },
          body: { data: { type: "terraform-versions", attributes: { enabled: !enabled } } },
        })
      }
    />
  );
}

function Remove({ version: { id, attributes } }: { readonly version: Resource<"terraform-versions"> }) {
  const { version } = attributes;
  const remove = useAction("DELETE /admin/terraform-versions/{terraform_version_id}", { done: `Removed ${version}.` });
  return (
    <DangerButton
      isQuiet
      verb="Remove"
      label={`Remove ${version}`}
      title={`Remove ${version}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { terraform_version_id: id } })}
    >
      Workspaces can no longer select it. Those that already use it keep it.
    </DangerButton>
  );
}

function AddVersion({ onClose }: { readonly onClose: () => void }) {
  const draft = useDraft({ version: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /admin/terraform-versions"
      done={({ data }) => `Added ${data.attributes.version}.`}
      after={onClose}
      verb="Add version"
      onCancel={onClose}
      input={(attributes) => ({ body: { data: { type: "terraform-versions", attributes } } })}
    >
      <TextInput label="Version" placeholder="1.13.3" {...draft.getInputProps("version")} data-autofocus />
    </OperationForm>
  );
}
