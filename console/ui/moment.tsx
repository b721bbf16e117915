/** A moment to come: a day and a time as the person's clock has them; sent as an instant. Empty where there is none. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { serverNow } from "../now.ts";

interface MomentInputProps extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  /** An instant, or nothing. */
  readonly value?: string;
  readonly onChange?: (value: string) => void;
}

export function MomentInput({ value = "", onChange, ...rest }: MomentInputProps) {
  return (
    <TextInput
      {...rest}
      type="datetime-local"
      value={localOf(value)}
      onChange={({ currentTarget }) => onChange?.(instantOf(currentTarget.value))}
    />
  );
}

/** `2026-12-31T18:00`, as the browser's field writes it. */
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
