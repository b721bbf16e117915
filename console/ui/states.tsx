/** What a part of a page shows when it has nothing to show yet, nothing at all, or could not be had. */
import { Alert, Button, Group, List, Paper, Skeleton, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "../api/errors.ts";

/** Rows of the final size, so that nothing jumps when they come. */
export function LoadingRows({ rows = 8, height = 33 }: { readonly rows?: number; readonly height?: number }) {
  return (
    <Stack gap={1} aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height - 1} radius={2} />
      ))}
    </Stack>
  );
}

/** The server's own sentences. */
export function Refusal({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const sentences = error instanceof ApiError ? error.problems.map(({ detail }) => detail) : [String(error)];
  const title =
    error instanceof ApiError && error.status === 404 ? "Not here, or not yours to see" : "That did not work";
  return (
    <Alert color="red" title={title} role="alert">
      {sentences.length === 1 ? (
        sentences[0]
      ) : (
        <List size="sm">
          {sentences.map((sentence) => (
            <List.Item key={sentence}>{sentence}</List.Item>
          ))}
        </List>
      )}
      {onRetry && (
        <Button mt="sm" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** An empty page says what to do first. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs" ta="center">
        <Text fw={600}>{title}</Text>
        {children && (
          <Text c="dimmed" maw="34rem" component="div">
            {children}
          </Text>
        )}
        {action && <Group mt="xs">{action}</Group>}
      </Stack>
    </Paper>
  );
}

/** A query's answer, or what stands in its place. */
export function Asked<T>({
  query,
  loading = <LoadingRows />,
  children,
}: {
  readonly query: UseQueryResult<T, unknown>;
  readonly loading?: ReactNode;
  readonly children: (answer: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Refusal error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}
