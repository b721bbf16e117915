/** SSH keys with which runs fetch modules. Keys are write-only. */
import { Button, Group, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { PrivateKeyInput } from "../../ui/inputs.tsx";
import { Empty } from "../../components/states.tsx";
import { Identifier, When } from "../../ui/text.tsx";
import { sshKeys } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

export default function SshKeysPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useDisclosure();
  const [edited, setEdited] = useState<Resource<"ssh-keys">>();
  const { search } = useAddress();
  const rights = useRights(organization);
  const canUpdate = rights?.["can-update-ssh-keys"];
  const query = useQuery(sshKeys(organization, search));
  return (
    <Page
      title="SSH keys"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Runs use these keys to fetch modules from private repositories. Select one in a workspace's settings."
      actions={canUpdate && <Button onClick={open}>Add SSH key</Button>}
    >
      <List
        one="SSH key"
        label="SSH keys"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title="No SSH keys yet">You only need one if your modules come from private repositories.</Empty>}
        columns={() => [
          { title: "Name", cell: ({ attributes }) => attributes.name },
          { title: "ID", isExtra: true, cell: ({ id }) => <Identifier value={id} /> },
          { title: "Created", cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
          {
            title: "Actions",
            width: 1,
            cell: (key) =>
              canUpdate && (
                <Group gap={4} wrap="nowrap" justify="flex-end">
                  <Button
                    variant="subtle"
                    size="compact-xs"
                    aria-label={`Edit ${key.attributes.name}`}
                    onClick={() => setEdited(key)}
                  >
                    Edit
                  </Button>
                  <Delete sshKey={key} />
                </Group>
              ),
          },
        ]}
      />
      <FormDialog
        opened={edited !== undefined}
        onClose={() => setEdited(undefined)}
        title={`Edit ${edited?.attributes.name}`}
      >
        {edited && <EditKey sshKey={edited} onClose={() => setEdited(undefined)} />}
      </FormDialog>
      <FormDialog opened={opened} onClose={close} title="Add SSH key">
        <AddKey organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

function Delete({ sshKey: { id, attributes } }: { readonly sshKey: Resource<"ssh-keys"> }) {
  const remove = useAction("DELETE /ssh-keys/{ssh_key_id}", { done: `Deleted SSH key ${attributes.name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${attributes.name}`}
      title={`Delete SSH key ${attributes.name}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { ssh_key_id: id } })}
    >
      Workspaces that use it are left without an SSH key, and their runs can't fetch private modules.
    </DangerButton>
  );
}

function AddKey({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const draft = useDraft({ name: "", value: "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/ssh-keys"
      done={({ data }) => `Added SSH key ${data.attributes.name}.`}
      after={onClose}
      verb="Add SSH key"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "ssh-keys", attributes } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <PrivateKeyInput {...draft.getInputProps("value")} />
    </OperationForm>
  );
}

interface EditKeyProps {
  readonly sshKey: Resource<"ssh-keys">;
  readonly onClose: () => void;
}

function EditKey({ sshKey: { id, attributes }, onClose }: EditKeyProps) {
  const draft = useDraft({ name: attributes.name ?? "", value: "" });
  return (
    <OperationForm
      draft={draft}
      operation="PATCH /ssh-keys/{ssh_key_id}"
      done={({ data }) => `Saved SSH key ${data.attributes.name}.`}
      after={onClose}
      verb="Save"
      onCancel={onClose}
      isReady={draft.isDirty()}
      input={() => ({ path: { ssh_key_id: id }, body: { data: { type: "ssh-keys", attributes: changesIn(draft) } } })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
      <PrivateKeyInput
        description="Leave empty to keep the current key. Workspaces that use it switch to the new one."
        {...draft.getInputProps("value")}
      />
    </OperationForm>
  );
}
