/** Progress through the four steps of the first start. */
import { Group, Text, ThemeIcon } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";

const steps = ["Organization", "Project", "Workspace", "First state"];

export function Steps({ at }: { readonly at: 0 | 1 | 2 | 3 | 4 }) {
  return (
    <Group component="ol" gap="lg" p={0} m={0} mb="lg" style={{ listStyle: "none" }} aria-label="Steps">
      {steps.map((step, index) => (
        <Group key={step} component="li" gap={8} wrap="nowrap" aria-current={index === at ? "step" : undefined}>
          <ThemeIcon
            size={22}
            radius="xl"
            variant={index <= at ? "filled" : "default"}
            color={index < at ? "accent" : index === at ? "accent" : "gray"}
            fz="xs"
            aria-hidden
          >
            {index < at ? <IconCheck size={14} /> : index + 1}
          </ThemeIcon>
          <Text fz="sm" fw={index === at ? 600 : 400} c={index > at ? "dimmed" : undefined}>
            {step}
          </Text>
        </Group>
      ))}
    </Group>
  );
}
