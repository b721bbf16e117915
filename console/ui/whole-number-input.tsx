/** A whole number. Gives the number, or what was typed as long as it is none. */
import { TextInput, type TextInputProps } from "@mantine/core";

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
