/** A bar at the bottom of the window with the actions on a selection. */
import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./action-bar.module.css";
import { figure } from "./text.tsx";

interface ActionBarProps {
  readonly count: number;
  readonly onClear: () => void;
  readonly children: ReactNode;
}

export function ActionBar({ count, onClear, children }: ActionBarProps) {
  return (
    <section className={classes["bar"]} aria-label="Selection">
      <Group justify="space-between" gap="xs">
        <Group gap="xs" wrap="nowrap">
          <Text fw={600} aria-live="polite" style={{ whiteSpace: "nowrap" }}>
            {figure(count)} selected
          </Text>
          {count > 0 && (
            <Button variant="subtle" onClick={onClear}>
              Clear selection
            </Button>
          )}
        </Group>
        {children}
      </Group>
    </section>
  );
}
