/** The variables of a set. Sensitive values are write-only. */
import { Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { OperationResponse, Resource } from "../../api/client.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent, Empty, LoadingRows } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Dimmed } from "../../ui/text.tsx";
import { VariableFields, type VariableValues } from "../variables/form.tsx";
import { variablesOfSet } from "../../api/detail-queries.ts";

export interface VariableSetDetails {
  readonly organization: string;
  readonly response: OperationResponse<"GET /varsets/{varset_id}">;
}

type Variable = Resource<"vars">;

export function Variables({ response: { data: set } }: VariableSetDetails) {
  const [edited, setEdited] = useState<Variable | "new">();
  const close = () => setEdited(undefined);
  const canUpdate = set.attributes.permissions["can-update"];
  const query = useQuery(variablesOfSet(set.id));
  return (
    <Section title="Variables" actions={canUpdate && <Button onClick={() => setEdited("new")}>Add variable</Button>}>
      <QueryContent query={query} loading={<LoadingRows rows={2} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No variables yet">Runs of all workspaces that this set applies to get its variables.</Empty>
          ) : (
            <Table
              label="Variables"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: "Key", cell: ({ attributes }) => <span className="mono">{attributes.key}</span> },
                { title: "Value", cell: (variable) => <Value variable={variable} /> },
                {
                  title: "Category",
                  isExtra: true,
                  cell: ({ attributes }) => (attributes.category === "env" ? "Environment" : "Terraform"),
                },
                { title: "Description", isExtra: true, cell: ({ attributes }) => attributes.description },
                {
                  title: "Actions",
                  width: 1,
                  cell: (variable) =>
                    canUpdate && (
                      <Group gap={4} wrap="nowrap" justify="flex-end">
                        <Button
                          variant="subtle"
                          size="compact-xs"
                          onClick={() => setEdited(variable)}
                          aria-label={`Edit ${variable.attributes.key}`}
                        >
                          Edit
                        </Button>
                        <Delete setId={set.id} variable={variable} />
                      </Group>
                    ),
                },
              ]}
            />
          )
        }
      </QueryContent>
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? "Add variable" : `Edit ${edited?.attributes.key}`}
      >
        {edited === "new" && <AddForm setId={set.id} onClose={close} />}
        {edited !== undefined && edited !== "new" && <EditForm setId={set.id} variable={edited} onClose={close} />}
      </FormDialog>
    </Section>
  );
}

function Value({ variable: { attributes } }: { readonly variable: Variable }) {
  if (attributes.sensitive) return <Dimmed>Sensitive</Dimmed>;
  return (
    <Group gap={6}>
      <span className="mono">{attributes.value}</span>
      {attributes.hcl && <Badge color="gray">HCL</Badge>}
    </Group>
  );
}

function Delete({ setId, variable: { id, attributes } }: { readonly setId: string; readonly variable: Variable }) {
  const remove = useAction("DELETE /varsets/{varset_id}/relationships/vars/{varset_var_id}", {
    done: `Deleted ${attributes.key}.`,
  });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${attributes.key}`}
      title={`Delete ${attributes.key}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { varset_id: setId, varset_var_id: id } })}
    >
      The next runs no longer get it. You can't recover its value.
    </DangerButton>
  );
}

interface FormProps {
  readonly setId: string;
  readonly onClose: () => void;
}

function AddForm({ setId, onClose }: FormProps) {
  const draft = useDraft<VariableValues>({
    key: "",
    value: "",
    description: "",
    category: "terraform",
    hcl: false,
    sensitive: false,
  });
  return (
    <OperationForm
      draft={draft}
      operation="POST /varsets/{varset_id}/relationships/vars"
      done={({ data }) => `Added ${data.attributes.key}.`}
      after={onClose}
      verb="Add variable"
      onCancel={onClose}
      input={(attributes) => ({ path: { varset_id: setId }, body: { data: { type: "vars", attributes } } })}
    >
      <VariableFields draft={draft} wasSensitive={false} />
    </OperationForm>
  );
}

function EditForm({ setId, variable: { id, attributes }, onClose }: FormProps & { readonly variable: Variable }) {
  const { key, value, description, category, hcl, sensitive } = attributes;
  const draft = useDraft<VariableValues>({ key, value: value ?? "", description, category, hcl, sensitive });
  return (
    <OperationForm
      draft={draft}
      operation="PATCH /varsets/{varset_id}/relationships/vars/{varset_var_id}"
      done={({ data }) => `Saved ${data.attributes.key}.`}
      after={onClose}
      verb="Save"
      isReady={draft.isDirty()}
      onCancel={onClose}
      input={() => ({
        path: { varset_id: setId, varset_var_id: id },
        body: { data: { type: "vars", attributes: changesIn(draft) } },
      })}
    >
      <VariableFields draft={draft} wasSensitive={sensitive} />
    </OperationForm>
  );
}
