/** The access rules that match some changes, with what each does. */
import { Badge, Group, Stack, Text } from "@mantine/core";

export interface MatchingRule {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  readonly enforcement: string;
}

const enforcements: Readonly<Record<string, { readonly color: string; readonly label: string }>> = {
  forbid: { color: "red", label: "Forbids" },
  approval: { color: "orange", label: "Needs approval" },
  advise: { color: "gray", label: "Advises" },
};

/** Strictest first; a rule that matches several changes is listed once. */
function listedRules(rules: readonly MatchingRule[]): readonly MatchingRule[] {
  const order = Object.keys(enforcements);
  return [...new Map(rules.map((rule) => [rule.id, rule])).values()].toSorted(
    (one, other) => order.indexOf(one.enforcement) - order.indexOf(other.enforcement),
  );
}

export function MatchingRules({ rules }: { readonly rules: readonly MatchingRule[] }) {
  if (rules.length === 0) return null;
  return (
    <Stack component="ul" gap={6} p={0} m={0} aria-label="Access rules that match" style={{ listStyle: "none" }}>
      {listedRules(rules).map(({ id, name, message, enforcement }) => {
        const { color, label } = enforcements[enforcement] ?? { color: "gray", label: enforcement };
        return (
          <Group component="li" key={id} gap="xs" align="baseline" wrap="nowrap">
            <Badge color={color} variant="light" style={{ flexShrink: 0 }}>
              {label}
            </Badge>
            <Text fz="sm" className="wrapped">
              <b>{name}</b>
              {message !== name && `: ${message}`}
            </Text>
          </Group>
        );
      })}
    </Stack>
  );
}
