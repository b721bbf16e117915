/** What a part of a page shows when it has nothing to show yet, or nothing at all. */
import { Center, Group, Loader, Paper, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** Rows of the final size, so that nothing jumps when they come; seen only where they take a moment, so that nothing flashes. */
export function LoadingRows({ rows = 8, height = 33 }: { readonly rows?: number; readonly height?: number }) {
  return (
    <Stack gap={1} role="group" aria-busy="true" aria-label="Loading" className="after-a-moment">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height - 1} radius={2} />
      ))}
    </Stack>
  );
}

/** A whole page that is on its way. */
export const LoadingPage = () => (
  <Stack gap="md">
    <Skeleton height={28} width={240} radius={2} />
    <LoadingRows rows={10} />
  </Stack>
);

/** The console itself, before there is anything around a page. */
export const Opening = () => (
  <Center mih="60vh" role="status" aria-label="Loading">
    <Loader color="gray" type="dots" aria-hidden />
  </Center>
);

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
        <Text fw={600} className="wrapped">
          {title}
        </Text>
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

interface NoMatchesProps {
  /** "workspaces": what was searched. */
  readonly many: string;
  /** What was typed; empty where only filters were chosen. */
  readonly search?: string | undefined;
  readonly action?: ReactNode;
}

/** A list that has something, and nothing that matches. */
export const NoMatches = ({ many, search, action }: NoMatchesProps) => (
  <Empty title={search ? `No ${many} match "${search}".` : `No matching ${many}`} action={action} />
);
