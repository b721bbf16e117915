/** Creates, changes and deletes a workspace's variable. Sensitive values are write-only. */
import { Button, Checkbox, Drawer, SegmentedControl, Text, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { ActionForm, changesIn, useDraft, type FormDraft } from "../../components/forms.tsx";

export interface VariableValues {
  readonly key: string;
  readonly value: string;
  readonly description: string;
  readonly category: "terraform" | "env";
  readonly hcl: boolean;
  readonly sensitive: boolean;
}

interface VariableFormProps {
  readonly workspaceId: string;
  readonly variable: Resource<"vars"> | undefined;
  readonly onClose: () => void;
}

export function VariableForm({ workspaceId, variable, onClose }: VariableFormProps) {
  const known = variable?.attributes;
  const draft = useDraft<VariableValues>({
    key: known?.key ?? "",
    value: known?.value ?? "",
    description: known?.description ?? "",
    category: known?.category ?? "terraform",
    hcl: known?.hcl ?? false,
    sensitive: known?.sensitive ?? false,
  });
  const options = { after: onClose, refusal: "form" } as const;
  const create = useAction("POST /workspaces/{workspace_id}/vars", {
    ...options,
    done: ({ data }) => `Added ${data.attributes.key}.`,
  });
  const update = useAction("PATCH /workspaces/{workspace_id}/vars/{var_id}", {
    ...options,
    done: ({ data }) => `Saved ${data.attributes.key}.`,
  });
  const fields = <VariableFields draft={draft} wasSensitive={known?.sensitive === true} />;
  return (
    <Drawer
      opened
      onClose={onClose}
      title={variable ? `Edit ${known?.key}` : "Add variable"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {variable ? (
        <ActionForm
          draft={draft}
          action={update}
          input={() => ({
            path: { workspace_id: workspaceId, var_id: variable.id },
            body: { data: { type: "vars", id: variable.id, attributes: changesIn(draft) } },
          })}
          verb="Save"
          onCancel={onClose}
        >
          {fields}
        </ActionForm>
      ) : (
        <ActionForm
          draft={draft}
          action={create}
          input={(attributes) => ({
            path: { workspace_id: workspaceId },
            body: { data: { type: "vars", attributes } },
          })}
          verb="Add variable"
          onCancel={onClose}
        >
          {fields}
        </ActionForm>
      )}
    </Drawer>
  );
}

interface VariableFieldsProps {
  readonly draft: FormDraft<VariableValues>;
  readonly wasSensitive: boolean;
}

export function VariableFields({ draft, wasSensitive }: VariableFieldsProps) {
  const { category } = draft.values;
  return (
    <>
      <div>
        <Text component="div" fz="sm" fw={500} mb={4} id="category-label">
          Category
        </Text>
        <SegmentedControl
          aria-labelledby="category-label"
          data={[
            { value: "terraform", label: "Terraform" },
            { value: "env", label: "Environment" },
          ]}
          {...draft.getInputProps("category")}
        />
      </div>
      <TextInput label="Key" data-autofocus className="mono" required {...draft.getInputProps("key")} />
      <Textarea
        label="Value"
        description={
          wasSensitive
            ? "The value is sensitive and is not shown. Enter a new value to replace it, or leave this empty to keep it."
            : undefined
        }
        autosize
        minRows={2}
        maxRows={16}
        classNames={{ input: "mono" }}
        {...draft.getInputProps("value")}
      />
      <TextInput label="Description" {...draft.getInputProps("description")} />
      {category === "terraform" && (
        <Checkbox
          label="HCL"
          description="The value is an HCL literal, such as a list or a map."
          {...draft.getInputProps("hcl", { type: "checkbox" })}
        />
      )}
      <Checkbox
        label="Sensitive"
        description={
          wasSensitive
            ? "You can't turn this off. Delete the variable and add a new one."
            : "The value is never shown again. You can't undo this."
        }
        disabled={wasSensitive}
        {...draft.getInputProps("sensitive", { type: "checkbox" })}
      />
    </>
  );
}

interface DeleteVariableProps {
  readonly workspaceId: string;
  readonly variable: Resource<"vars">;
}

export function DeleteVariable({ workspaceId, variable }: DeleteVariableProps) {
  const [opened, { open, close }] = useDisclosure();
  const { key } = variable.attributes;
  const action = useAction("DELETE /workspaces/{workspace_id}/vars/{var_id}", {
    done: `Deleted ${key}.`,
    after: close,
  });
  return (
    <>
      <Button variant="subtle" color="red" size="compact-xs" onClick={open} aria-label={`Delete ${key}`}>
        Delete
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Delete ${key}?`}
        verb="Delete"
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspaceId, var_id: variable.id } })}
      >
        Future runs won't get this variable, unless a variable set has the same key. You can't restore its value.
      </DangerDialog>
    </>
  );
}
