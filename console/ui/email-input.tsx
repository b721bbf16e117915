/** An email address. The server's check of its form names the attribute; this says what to type. */
import { TextInput, type TextInputProps } from "@mantine/core";

const hasForm = (value: TextInputProps["value"]): boolean => /^[^\s@]+@[^\s@]+$/.test(`${value ?? ""}`);

export const EmailInput = ({ error, ...props }: TextInputProps) => (
  <TextInput
    label="Email"
    type="email"
    error={error && !hasForm(props.value) ? "Enter a valid email address" : error}
    {...props}
  />
);
