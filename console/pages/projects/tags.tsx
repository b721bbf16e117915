/** The key-value tags of a project, with actions to add and remove them. */
import { ActionIcon, Badge, Button, Group, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";

export interface TagBindingValue {
  readonly key: string;
  readonly value: string;
}

interface BindingsProps {
  readonly bindings: readonly TagBindingValue[];
  readonly canUpdate: boolean;
  readonly isBusy: boolean;
  readonly onAdd: (binding: TagBindingValue) => void;
  readonly onKeep: (bindings: readonly TagBindingValue[]) => void;
}

export function Bindings({ bindings, canUpdate, isBusy, onAdd, onKeep }: BindingsProps) {
  const [draft, setDraft] = useState({ key: "", value: "" });
  return (
    <>
      <Group gap="xs">
        {bindings.length === 0 && <span>No tags yet.</span>}
        {bindings.map(({ key, value }) => (
          <Badge
            key={key}
            tt="none"
            fw={400}
            size="lg"
            variant="default"
            rightSection={
              canUpdate && (
                <ActionIcon
                  size="xs"
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove tag ${key}`}
                  disabled={isBusy}
                  onClick={() => onKeep(bindings.filter((one) => one.key !== key))}
                >
                  <IconX size={12} />
                </ActionIcon>
              )
            }
          >
            <b>{key}</b>
            {value && `: ${value}`}
          </Badge>
        ))}
      </Group>
      {canUpdate && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onAdd(draft);
            setDraft({ key: "", value: "" });
          }}
        >
          <Group gap="xs" align="flex-end">
            <TextInput
              aria-label="Key"
              placeholder="key"
              value={draft.key}
              onChange={({ currentTarget: { value } }) => setDraft((now) => ({ ...now, key: value }))}
              w={160}
            />
            <TextInput
              aria-label="Value"
              placeholder="value"
              value={draft.value}
              onChange={({ currentTarget: { value } }) => setDraft((now) => ({ ...now, value }))}
              w={160}
            />
            <Button type="submit" variant="default" disabled={draft.key === ""} loading={isBusy}>
              Add tag
            </Button>
          </Group>
        </form>
      )}
    </>
  );
}
