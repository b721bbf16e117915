/** A field for a duration: usual ones, or a number of minutes. */
import { Chip, Group, Input } from "@mantine/core";
import { useId, useState, type ReactNode } from "react";
import { type DurationChoice, durationText, usualDurations } from "./duration.ts";
import { WholeNumberInput } from "./inputs.tsx";

interface DurationInputProps {
  readonly label: string;
  readonly description?: ReactNode;
  /** In seconds; null if the field is empty. */
  readonly value?: number | null;
  readonly onChange?: (seconds: number | null) => void;
  readonly choices?: readonly DurationChoice[];
  /** The label of the choice of no duration; with it, null is that choice. */
  readonly none?: string;
  readonly error?: ReactNode;
}

const minute = 60;

export function DurationInput(props: DurationInputProps) {
  const { label, description, value = null, onChange, choices = usualDurations, none, error } = props;
  const id = useId();
  const isUsual = choices.some(({ seconds }) => seconds === value) || (none !== undefined && value === null);
  const [isCustom, setCustom] = useState(!isUsual);
  const choose = (key: string) => {
    setCustom(key === "custom");
    if (key === "none") onChange?.(null);
    else if (key !== "custom") onChange?.(Number(key));
  };
  return (
    <Input.Wrapper label={label} labelElement="div" labelProps={{ id }} error={!isCustom && error}>
      <Group gap={6} role="radiogroup" aria-labelledby={id} pt={2}>
        <Chip.Group value={isCustom ? "custom" : String(value ?? "none")} onChange={choose}>
          {choices.map(({ seconds, label }) => (
            <Chip key={seconds} name={id} value={String(seconds)} size="xs" radius="sm">
              {label}
            </Chip>
          ))}
          {none !== undefined && (
            <Chip name={id} value="none" size="xs" radius="sm">
              {none}
            </Chip>
          )}
          <Chip name={id} value="custom" size="xs" radius="sm">
            Custom
          </Chip>
        </Chip.Group>
      </Group>
      {isCustom && (
        <WholeNumberInput
          aria-label={`${label}, minutes`}
          mt={6}
          w={{ base: "100%", xs: 240 }}
          min={1}
          rightSection="min"
          rightSectionWidth={44}
          value={value === null ? "" : value / minute}
          onChange={(minutes) => onChange?.(minutes === "" ? null : Math.round(Number(minutes) * minute))}
          error={error}
        />
      )}
      <Input.Description mt={4} aria-live="polite">
        {isCustom && value !== null ? `${durationText(value)}. ` : ""}
        {description}
      </Input.Description>
    </Input.Wrapper>
  );
}
