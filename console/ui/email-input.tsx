/** An email address. The server's check of its form names the attribute; this says what to type. */
import { TextInput, type TextInputProps } from "@mantine/core";

/** As the server has it. */
export const isEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text);

export const EmailInput = ({ error, ...props }: TextInputProps) => (
  <TextInput
    label="Email"
    type="email"
    error={error && !isEmail(`${props.value ?? ""}`) ? "Enter a valid email address" : error}
    {...props}
  />
);
