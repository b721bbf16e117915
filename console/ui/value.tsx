/** A value of any shape, as text: short on a line, long ones in a box that scrolls. */
import { Code, Text } from "@mantine/core";

const shortMax = 100;
const longMax = 20_000;

export function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === undefined
    ? ""
    : text.length > shortMax && typeof value !== "string"
      ? JSON.stringify(value, null, 2)
      : text;
}

export function Value({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = textOf(value);
  if (text === "")
    return (
      <Text span inherit c="dimmed">
        empty
      </Text>
    );
  if (text.length <= shortMax && !text.includes("\n")) return <span className="mono">{text}</span>;
  const shown = text.length > longMax ? `${text.slice(0, longMax)}\n… ${text.length - longMax} more characters` : text;
  return (
    <Code block fz="sm" mah="14rem" style={{ overflow: "auto" }} tabIndex={0} aria-label={label}>
      {shown}
    </Code>
  );
}
