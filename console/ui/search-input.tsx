/** A field that searches as one types. What is typed is the field's own; the address follows a moment later. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

interface SearchInputProps extends Omit<TextInputProps, "value" | "onChange"> {
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

const soonMs = 150;

export function SearchInput({ value = "", onChange, ...rest }: SearchInputProps) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  const send = useDebouncedCallback((text: string) => {
    setKnown(text);
    onChange(text);
  }, soonMs);
  // Changed from elsewhere, as by going back; not by what was sent from here.
  if (value !== known && typed.trim() === known) {
    setKnown(value);
    setTyped(value);
  }
  return (
    <TextInput
      {...rest}
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        send(currentTarget.value.trim());
      }}
    />
  );
}
