/** Fields for an instant and for an expiry. */
import { Chip, Group, Input, TextInput, type TextInputProps } from "@mantine/core";
import { useId, type ReactNode } from "react";
import { dayText, type Expiry, expiryFault, expiryInstant } from "./expiry.ts";
import { serverNow, useNow } from "../now.ts";
import { capitalized } from "./text.tsx";

interface ExpiryChoice {
  readonly seconds: number;
  readonly label: string;
}

const hour = 3600;
const day = 24 * hour;

export const shortExpiries: readonly ExpiryChoice[] = [
  { seconds: hour, label: "1 hour" },
  { seconds: 8 * hour, label: "8 hours" },
  { seconds: day, label: "1 day" },
  { seconds: 7 * day, label: "1 week" },
];

export const longExpiries: readonly ExpiryChoice[] = [
  ...shortExpiries,
  { seconds: 30 * day, label: "30 days" },
  { seconds: 90 * day, label: "90 days" },
  { seconds: 365 * day, label: "1 year" },
];

interface ExpiryInputProps {
  readonly value?: Expiry;
  readonly onChange?: (value: Expiry) => void;
  readonly error?: ReactNode;
  readonly choices?: readonly ExpiryChoice[];
  readonly hasNever?: boolean;
  readonly never?: string;
}

const keyOf = (value: Expiry): string => (value === null ? "never" : "at" in value ? "custom" : String(value.seconds));

const soon = (now: number) => new Date(Math.ceil((now + hour * 1000) / 60_000) * 60_000).toISOString();

export function ExpiryInput({
  value = null,
  onChange,
  error,
  choices = shortExpiries,
  hasNever = true,
  never = "No expiry.",
}: ExpiryInputProps) {
  const now = useNow();
  const id = useId();
  const isCustom = value !== null && "at" in value;
  const chosen = (key: string): Expiry => {
    if (key === "never") return null;
    return key === "custom" ? { at: expiryInstant(value) ?? soon(serverNow()) } : { seconds: Number(key) };
  };
  return (
    <Input.Wrapper label="Expires" labelElement="div" labelProps={{ id }} error={!isCustom && error}>
      <Group gap={6} role="radiogroup" aria-labelledby={id} pt={2}>
        <Chip.Group value={keyOf(value)} onChange={(key) => onChange?.(chosen(key))}>
          {choices.map(({ seconds, label }) => (
            <Chip key={seconds} name={id} value={String(seconds)} size="xs" radius="sm">
              {label}
            </Chip>
          ))}
          {hasNever && (
            <Chip name={id} value="never" size="xs" radius="sm">
              Never
            </Chip>
          )}
          <Chip name={id} value="custom" size="xs" radius="sm">
            Custom
          </Chip>
        </Chip.Group>
      </Group>
      {isCustom ? (
        <TextInput
          type="datetime-local"
          aria-label="Expiry date and time"
          mt={6}
          w={{ base: "100%", xs: 240 }}
          description={`Time zone: ${zone()}`}
          inputWrapperOrder={["input", "description", "error"]}
          value={localOf(value.at)}
          error={expiryFault(value, now) ?? error}
          onChange={({ currentTarget }) => onChange?.({ at: instantOf(currentTarget.value) })}
        />
      ) : (
        <Input.Description mt={4} aria-live="polite">
          {value === null ? never : `${capitalized(dayText(expiryInstant(value, now) ?? "", now))} (${zone()})`}
        </Input.Description>
      )}
    </Input.Wrapper>
  );
}

const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

interface InstantInputProps extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  readonly value?: string;
  readonly onChange?: (value: string) => void;
}

export function InstantInput({ value = "", onChange, ...rest }: InstantInputProps) {
  return (
    <TextInput
      {...rest}
      type="datetime-local"
      value={localOf(value)}
      onChange={({ currentTarget }) => onChange?.(instantOf(currentTarget.value))}
    />
  );
}

export function localOf(instant: string): string {
  const time = new Date(instant);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function instantOf(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

const dayMs = 86_400_000;

export const inDays = (days: number): string => new Date(serverNow() + days * dayMs).toISOString();
