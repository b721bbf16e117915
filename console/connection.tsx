/** Shows a line while the server can't be reached, unless the page says so. */
import { Button, Group, Loader, Paper, Text } from "@mantine/core";
import { useEffect, useEffectEvent, useRef } from "react";
import { isServerReady, useHasNotice, useIsLost } from "./api/connection.ts";

const againMs = 3_000;

export function Connection({ onFound }: { readonly onFound: () => void }) {
  const isLost = useIsLost();
  const hasNotice = useHasNotice();
  const wasLost = useRef(false);
  const found = useEffectEvent(onFound);
  useEffect(() => {
    if (wasLost.current && !isLost) found();
    wasLost.current = isLost;
    if (!isLost) return;
    const timer = setInterval(() => void isServerReady(), againMs);
    return () => clearInterval(timer);
  }, [isLost]);
  return (
    <div role="status" className="lost">
      {isLost && !hasNotice && (
        <Paper withBorder shadow="md" px="md" py="xs">
          <Group gap="sm" wrap="nowrap">
            <Loader size={14} color="gray" aria-hidden />
            <Text fz="sm">Can't reach the server. This page may be out of date. Retrying…</Text>
            <Button variant="default" size="compact-xs" flex="none" onClick={() => void isServerReady()}>
              Retry now
            </Button>
          </Group>
        </Paper>
      )}
    </div>
  );
}
