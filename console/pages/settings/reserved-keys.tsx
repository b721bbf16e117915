/** Tag keys that the organization keeps for itself. */
import { Button, Checkbox, Group, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { askingWhole } from "../../api/whole.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

interface ReservedKeysProps {
  readonly organization: string;
  readonly mayUpdate: boolean;
}

export function ReservedKeys({ organization, mayUpdate }: ReservedKeysProps) {
  const [opened, { open, close }] = useDisclosure();
  const query = useQuery(
    askingWhole("GET /organizations/{organization_name}/reserved-tag-keys", {
      path: { organization_name: organization },
    }),
  );
  return (
    <Section
      title="Reserved tag keys"
      about="Tag keys that have the same meaning everywhere. You can prevent workspaces from overriding a project's value."
      actions={
        mayUpdate && (
          <Button variant="default" onClick={open}>
            Reserve tag key
          </Button>
        )
      }
    >
      <Asked query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <span>No reserved tag keys yet.</span>
          ) : (
            <Table
              label="Reserved tag keys"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: "Key", cell: ({ attributes }) => <span className="mono">{attributes.key}</span> },
                {
                  title: "Overrides",
                  cell: ({ attributes }) => (attributes["disable-overrides"] ? "not allowed" : "allowed"),
                },
                { title: "Actions", width: 1, cell: (key) => mayUpdate && <Actions reserved={key} /> },
              ]}
            />
          )
        }
      </Asked>
      <FormDialog opened={opened} onClose={close} title="Reserve tag key">
        <Reserve organization={organization} onClose={close} />
      </FormDialog>
    </Section>
  );
}

function Actions({ reserved: { id, attributes } }: { readonly reserved: Resource<"reserved-tag-keys"> }) {
  const { key, "disable-overrides": isFixed } = attributes;
  const path = { reserved_tag_key_id: id };
  const change = useAction("PATCH /reserved-tag-keys/{reserved_tag_key_id}", {
    done: `Overrides of ${key} are ${isFixed ? "allowed" : "no longer allowed"}.`,
  });
  const remove = useAction("DELETE /reserved-tag-keys/{reserved_tag_key_id}", {
    done: `${key} is no longer reserved.`,
  });
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button
        variant="subtle"
        size="compact-xs"
        loading={change.isPending}
        aria-label={`${isFixed ? "Allow" : "Disable"} overrides of ${key}`}
        onClick={() =>
          change.mutate({
            path,
            body: { data: { type: "reserved-tag-keys", attributes: { "disable-overrides": !isFixed } } },
          })
        }
      >
        {isFixed ? "Allow overrides" : "Disable overrides"}
      </Button>
      <DangerButton
        isQuiet
        verb="Unreserve"
        label={`Unreserve ${key}`}
        title={`Unreserve ${key}?`}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate({ path })}
      >
        Existing tags with this key stay. Anyone who can edit tags can then use the key freely.
      </DangerButton>
    </Group>
  );
}

function Reserve({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const draft = useDraft({ key: "", "disable-overrides": false });
  const reserve = useAction("POST /organizations/{organization_name}/reserved-tag-keys", {
    done: ({ data }) => `Reserved ${data.attributes.key}.`,
    refusal: "form",
    after: onClose,
  });
  return (
    <ActionForm
      draft={draft}
      action={reserve}
      verb="Reserve tag key"
      onCancel={onClose}
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "reserved-tag-keys", attributes } },
      })}
    >
      <TextInput label="Key" placeholder="cost-center" {...draft.getInputProps("key")} data-autofocus />
      <Checkbox
        label="Disable overrides"
        description="Workspaces always use their project's value."
        {...draft.getInputProps("disable-overrides", { type: "checkbox" })}
      />
    </ActionForm>
  );
}
