/** A server that went away: what is shown stays, a line says so, and everything is read anew as soon as it answers. */
import { Button, Group, Loader, Paper, Text } from "@mantine/core";
import { useEffect, useEffectEvent, useRef } from "react";
import { isAnswering, useIsLost } from "./api/connection.ts";

const againMs = 3_000;

export function Connection({ onFound }: { readonly onFound: () => void }) {
  const isLost = useIsLost();
  const wasLost = useRef(false);
  const found = useEffectEvent(onFound);
  useEffect(() => {
    if (wasLost.current && !isLost) found();
    wasLost.current = isLost;
    if (!isLost) return;
    const timer = setInterval(() => void isAnswering(), againMs);
    return () => clearInterval(timer);
  }, [isLost]);
  return (
    <div role="status" className="lost">
      {isLost && (
        <Paper withBorder shadow="md" px="md" py="xs">
          <Group gap="sm" wrap="nowrap">
            <Loader size={14} color="gray" aria-hidden />
            <Text fz="sm">
              The server does not answer. What you see is as it was; the page goes on by itself when it answers again.
            </Text>
            <Button variant="default" size="compact-xs" flex="none" onClick={() => void isAnswering()}>
              Try now
            </Button>
          </Group>
        </Paper>
      )}
    </div>
  );
}
