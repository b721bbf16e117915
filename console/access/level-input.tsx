/** Inputs for the level of a grant, and for the permissions of the level "custom". */
import { Checkbox, Group, Input, SegmentedControl, Select, SimpleGrid, Stack } from "@mantine/core";
import { useId } from "react";
import { choicesOn, type CustomPermissions, levelsOn } from "./columns.ts";
import type { AccessTargetKind } from "./words.ts";

interface LevelInputProps {
  readonly kind: AccessTargetKind;
  readonly value: string;
  readonly onChange: (level: string) => void;
}

export function LevelInput({ kind, value, onChange }: LevelInputProps) {
  const id = useId();
  const levels = levelsOn[kind];
  return (
    <Input.Wrapper label="Level" labelElement="div" labelProps={{ id }} w={{ base: "100%", xs: 340 }}>
      <SegmentedControl
        display="flex"
        mt={2}
        size="xs"
        aria-labelledby={id}
        data={levels.map(({ value }) => value)}
        value={value}
        onChange={onChange}
      />
      <Input.Description mt={4} aria-live="polite">
        {levels.find((level) => level.value === value)?.about}
      </Input.Description>
    </Input.Wrapper>
  );
}

interface CustomPermissionInputsProps {
  readonly kind: AccessTargetKind;
  readonly chosen: CustomPermissions;
  readonly onChange: (chosen: CustomPermissions) => void;
}

export function CustomPermissionInputs({ kind, chosen, onChange }: CustomPermissionInputsProps) {
  const several = choicesOn[kind].filter(({ options }) => options !== undefined);
  const single = choicesOn[kind].filter(({ options }) => options === undefined);
  return (
    <Stack gap="sm" role="group" aria-label="Permissions">
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
        {several.map(({ attribute, label, options = [] }) => (
          <Select
            key={attribute}
            size="xs"
            label={label}
            data={[...options]}
            value={String(chosen[attribute] ?? options[0])}
            onChange={(value) => onChange({ ...chosen, [attribute]: value ?? "" })}
          />
        ))}
      </SimpleGrid>
      <Group gap="lg">
        {single.map(({ attribute, label }) => (
          <Checkbox
            key={attribute}
            size="xs"
            label={label}
            checked={chosen[attribute] === true}
            onChange={(event) => onChange({ ...chosen, [attribute]: event.currentTarget.checked })}
          />
        ))}
      </Group>
    </Stack>
  );
}
