/** The organization's reserved tag keys. */
import { Button, Checkbox, Switch, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { reservedKeys } from "../../api/list-queries.ts";

interface ReservedKeysProps {
  readonly organization: string;
  readonly canUpdate: boolean;
}

export function ReservedKeys({ organization, canUpdate }: ReservedKeysProps) {
  const [opened, { open, close }] = useDisclosure();
  const query = useQuery(reservedKeys(organization));
  return (
    <Section
      title="Reserved tag keys"
      about="Tag keys that have the same meaning everywhere. You can prevent workspaces from overriding a project's value."
      actions={
        canUpdate && (
          <Button variant="default" onClick={open}>
            Reserve tag key
          </Button>
        )
      }
    >
      <QueryContent query={query}>
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
                  title: "Allow overrides",
                  cell: (key) => <Overrides reserved={key} canUpdate={canUpdate} />,
                },
                { title: "Actions", width: 1, cell: (key) => canUpdate && <Unreserve reserved={key} /> },
              ]}
            />
          )
        }
      </QueryContent>
      <FormDialog opened={opened} onClose={close} title="Reserve tag key">
        <Reserve organization={organization} onClose={close} />
      </FormDialog>
    </Section>
  );
}

type ReservedTagKey = Resource<"reserved-tag-keys">;

function Overrides({
  reserved: { id, attributes },
  canUpdate,
}: {
  readonly reserved: ReservedTagKey;
  readonly canUpdate: boolean;
}) {
  const { key, "disable-overrides": isFixed } = attributes;
  const change = useAction("PATCH /reserved-tag-keys/{reserved_tag_key_id}", {
    done: `Workspaces can ${isFixed ? "now" : "no longer"} override ${key}.`,
  });
  return (
    <Switch
      checked={!isFixed}
      disabled={!canUpdate || change.isPending}
      aria-label={`Allow overrides of ${key}`}
      onChange={() =>
        change.mutate({
          path: { reserved_tag_key_id: id },
          body: { data: { type: "reserved-tag-keys", attributes: { "disable-overrides": !isFixed } } },
        })
      }
    />
  );
}

function Unreserve({ reserved: { id, attributes } }: { readonly reserved: ReservedTagKey }) {
  const { key } = attributes;
  const remove = useAction("DELETE /reserved-tag-keys/{reserved_tag_key_id}", {
    done: `${key} is no longer reserved.`,
  });
  return (
    <DangerButton
      isQuiet
      verb="Unreserve"
      label={`Unreserve ${key}`}
      title={`Unreserve ${key}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { reserved_tag_key_id: id } })}
    >
      Existing tags with this key stay. Anyone who can edit tags can then use the key freely.
    </DangerButton>
  );
}

function Reserve({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const draft = useDraft({ key: "", "disable-overrides": false });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/reserved-tag-keys"
      done={({ data }) => `Reserved ${data.attributes.key}.`}
      after={onClose}
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
    </OperationForm>
  );
}
