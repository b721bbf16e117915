/** Form and list inputs: search, email address, private key, whole number. */
import { TextInput, type TextInputProps, Textarea, type TextareaProps } from "@mantine/core";
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
  // Changed from elsewhere, such as by going back.
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

export const isEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text);

export const EmailInput = ({ error, ...props }: TextInputProps) => (
  <TextInput
    label="Email"
    type="email"
    error={error && !isEmail(`${props.value ?? ""}`) ? "Enter a valid email address" : error}
    {...props}
  />
);

export const PrivateKeyInput = (props: TextareaProps) => (
  <Textarea
    label="Private key"
    description="Use a key without a passphrase. Cadastre encrypts it and never shows it again."
    autosize
    minRows={4}
    maxRows={16}
    classNames={{ input: "mono" }}
    autoComplete="off"
    spellCheck={false}
    {...props}
  />
);

interface WholeNumberInputProps extends Omit<TextInputProps, "onChange" | "value"> {
  readonly value?: number | string;
  readonly onChange?: (value: number | string) => void;
}

export const WholeNumberInput = ({ value, onChange, ...props }: WholeNumberInputProps) => (
  <TextInput
    type="number"
    inputMode="numeric"
    step={1}
    value={value ?? ""}
    onChange={({ currentTarget }) => onChange?.(currentTarget.value === "" ? "" : Number(currentTarget.value))}
    {...props}
  />
);
