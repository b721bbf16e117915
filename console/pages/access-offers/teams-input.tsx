/** A field for several teams. */
import { ActionIcon, Badge, Group, Input } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Picker, usePickerItem } from "../../components/pickers.tsx";

interface TeamsInputProps {
  readonly label: string;
  readonly description: string;
  readonly organization: string;
  readonly value?: readonly string[];
  readonly onChange?: (ids: readonly string[]) => void;
  readonly error?: ReactNode;
}

export function TeamsInput(props: TeamsInputProps) {
  const { label, description, organization, value = [], onChange, error } = props;
  return (
    <Input.Wrapper label={label} labelElement="div" description={description} error={error}>
      <Group gap="xs" mt={4} role="group" aria-label={label}>
        {value.map((id) => (
          <TeamBadge key={id} id={id} onRemove={() => onChange?.(value.filter((each) => each !== id))} />
        ))}
        <Picker
          kind="teams"
          organization={organization}
          aria-label={`${label}: add a team`}
          placeholder="Add team"
          w={220}
          without={value}
          value={undefined}
          onChange={(id) => id && onChange?.([...value, id])}
          error={Boolean(error)}
        />
      </Group>
    </Input.Wrapper>
  );
}

function TeamBadge({ id, onRemove }: { readonly id: string; readonly onRemove: () => void }) {
  const name = usePickerItem("teams", id)?.attributes.name ?? id;
  return (
    <Badge
      tt="none"
      fw={400}
      size="lg"
      variant="default"
      rightSection={
        <ActionIcon size="xs" variant="subtle" color="gray" aria-label={`Remove team ${name}`} onClick={onRemove}>
          <IconX size={12} />
        </ActionIcon>
      }
    >
      {name}
    </Badge>
  );
}
