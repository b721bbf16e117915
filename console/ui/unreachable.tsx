/** What a page, or a part of one, shows while the server can't be reached. It goes away when the server answers: everything is then asked again. */
import { Button, Group, Loader, Paper, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { isAnswering, useNotice } from "../api/connection.ts";
import { ApiError } from "../api/errors.ts";

export const unreachableTitle = "Can't reach the server";

interface UnreachableProps {
  readonly error: unknown;
  /** A page has it as its title. */
  readonly isPage?: boolean;
  /** Shown by the parts of a page that failed after the first, which says it for all. */
  readonly loading?: ReactNode;
}

export function Unreachable({ error, isPage = false, loading = null }: UnreachableProps) {
  if (!useNotice()) return loading;
  // A server that is up and can't work says why.
  const reason = error instanceof ApiError && error.status === 503 ? error.message : undefined;
  return (
    <Paper withBorder p="xl" role="alert">
      <Stack align="center" gap="xs" ta="center">
        {!isPage && <Text fw={600}>{unreachableTitle}</Text>}
        <Text c="dimmed" maw="34rem">
          {reason ??
            "Check your network connection. If it works, ask your administrator whether the server is running."}
        </Text>
        <Group gap="sm" mt="xs" justify="center">
          <Loader size={14} color="gray" aria-hidden />
          <Text fz="sm">Retrying automatically…</Text>
          <Button variant="default" onClick={() => void isAnswering()}>
            Retry now
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
