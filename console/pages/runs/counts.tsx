/** The counts of a plan or apply: + ~ −, each with a word for screen readers. */
import { Group, Text, VisuallyHidden } from "@mantine/core";
import type { Resource } from "../../api/client.ts";
import { counted, figure } from "../../ui/text.tsx";

type PlanOrApply = Resource<"plans"> | Resource<"applies"> | undefined;

const countsOf = ({ attributes }: NonNullable<PlanOrApply>) => ({
  add: attributes["resource-additions"],
  change: attributes["resource-changes"],
  destroy: attributes["resource-destructions"],
  imported: attributes["resource-imports"],
  invoked: attributes["action-invocations"],
});

export function Counts({ phase }: { readonly phase: PlanOrApply }) {
  const isDone = phase !== undefined && phase.attributes.status === "finished";
  if (!isDone)
    return (
      <Text span inherit c="dimmed">
        –
      </Text>
    );
  const { add, change, destroy, imported, invoked } = countsOf(phase);
  return (
    <Group gap={8} wrap="nowrap" component="span" display="inline-flex">
      <Count sign="+" word="to add" color="teal" count={add} />
      <Count sign="~" word="to change" color="yellow" count={change} />
      <Count sign="−" word="to destroy" color="red" count={destroy} />
      {imported > 0 && <Count sign="←" word="to import" color="blue" count={imported} />}
      {invoked > 0 && <Count sign="→" word="actions to invoke" color="blue" count={invoked} />}
    </Group>
  );
}

export function CountsInWords({ phase }: { readonly phase: PlanOrApply }) {
  if (phase === undefined) return "changes not known";
  const { add, change, destroy, imported, invoked } = countsOf(phase);
  const destroyed = `${figure(destroy)} to destroy`;
  return (
    <>
      {figure(add)} to add, {figure(change)} to change,{" "}
      {destroy > 0 ? (
        <Text span inherit fw={700} c="var(--change-red)">
          {destroyed}
        </Text>
      ) : (
        destroyed
      )}
      {imported > 0 && `, ${figure(imported)} to import`}
      {invoked > 0 && `, ${counted(invoked, "action")} to invoke`}
    </>
  );
}

interface CountProps {
  readonly sign: string;
  readonly word: string;
  readonly color: string;
  readonly count: number;
}

function Count({ sign, word, color, count }: CountProps) {
  return (
    <Text span inherit c={count === 0 ? "dimmed" : `var(--change-${color})`} style={{ whiteSpace: "nowrap" }}>
      <span aria-hidden>{sign}</span>
      {figure(count)}
      <VisuallyHidden> {word}</VisuallyHidden>
    </Text>
  );
}
