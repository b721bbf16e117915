/** A request's status as an icon and a word, never a colour alone. */
import { Text } from "@mantine/core";
import { sentenceCase } from "../../ui/text.tsx";

const signs: Readonly<Record<string, readonly [sign: string, color: string]>> = {
  pending: ["▲", "orange"],
  approved: ["●", "teal"],
  denied: ["✕", "red"],
};

export const requestStatuses = ["pending", "approved", "denied", "withdrawn", "lapsed"] as const;

export function RequestStatus({ status }: { readonly status: string }) {
  const [sign, color] = signs[status] ?? ["–", "dimmed"];
  return (
    <span style={{ whiteSpace: "nowrap" }}>
      <Text span c={color} aria-hidden fz="sm" lh={1} display="inline-block" w="1.25rem">
        {sign}
      </Text>
      {sentenceCase(status)}
    </span>
  );
}
