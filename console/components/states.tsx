/** The states of a part of a page: a query's data, or loading, empty, not found and failed. */
import { Alert, Button, Group, List, Loader, Paper, Stack, Text, Center, Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { isServerReady, isUnreachable, useNotice } from "../api/connection.ts";
import { ApiError, notFoundDetail, notFoundTitle, SessionEnded } from "../api/errors.ts";
import { paths } from "../paths.ts";
import { prefix } from "../ui/link.tsx";
import { RequestAccess } from "./request-access.tsx";

export const unreachableTitle = "Can't reach the server";

interface UnreachableProps {
  readonly error: unknown;
  readonly isPage?: boolean;
  /** Only the first failed part shows the message; the others show this. */
  readonly loading?: ReactNode;
}

export function Unreachable({ error, isPage = false, loading = null }: UnreachableProps) {
  if (!useNotice()) return loading;
  // A server that is up but not ready gives the reason.
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
          <Button variant="default" onClick={() => void isServerReady()}>
            Retry now
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function titleOf(error: unknown): string {
  if (error instanceof SessionEnded) return "You are signed out";
  if (isUnreachable(error)) return unreachableTitle;
  return error instanceof ApiError && error.isMissing ? notFoundTitle(error) : "Couldn't load this page";
}

/** The server's "not found" text addresses API clients. */
function sentencesOf(error: unknown): readonly string[] {
  if (!(error instanceof ApiError)) return [String(error)];
  return error.isMissing ? [notFoundDetail] : error.problems.map(({ detail }) => detail);
}

interface RefusalProps {
  readonly error: unknown;
  readonly title?: string;
  readonly onRetry?: () => void;
  /** Whether a request for access could help. */
  readonly isRequestable?: boolean;
}

export function ErrorMessage({ error, title = titleOf(error), onRetry, isRequestable = true }: RefusalProps) {
  const isForbidden = isRequestable && error instanceof ApiError && error.status === 403;
  const sentences = sentencesOf(error);
  const isSignedOut = error instanceof SessionEnded;
  return (
    <Alert color="red" title={title} role="alert" className="wrapped">
      {isUnreachable(error) && <UnreachableMarker />}
      {sentences.length === 1 ? (
        sentences[0]
      ) : (
        <List size="sm">
          {sentences.map((sentence) => (
            <List.Item key={sentence}>{sentence}</List.Item>
          ))}
        </List>
      )}
      <Group mt="sm" gap="xs" display={onRetry || isSignedOut || isForbidden ? undefined : "none"}>
        {isSignedOut && (
          <Button component="a" variant="default" href={`${prefix}${paths.signIn()}`} target="_blank">
            Sign in
          </Button>
        )}
        {isForbidden && <RequestAccess />}
        {onRetry && (
          <Button variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

function UnreachableMarker() {
  useNotice();
  return null;
}

const isDeleted = ({ data, error }: Pick<UseQueryResult<unknown, unknown>, "data" | "error">): boolean =>
  data !== undefined && error instanceof ApiError && error.status === 404;

export const dataUnlessDeleted = <T,>(query: UseQueryResult<T, unknown>): T | undefined =>
  isDeleted(query) ? undefined : query.data;

function Deleted({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <Alert color="yellow" title="This no longer exists" role="alert">
      Someone deleted or renamed it, or removed your access to it. Go back to the list, or search with Ctrl K.
      <Group mt="sm">
        <Button variant="default" onClick={onRetry}>
          Try again
        </Button>
      </Group>
    </Alert>
  );
}

export function QueryContent<T>({
  query,
  loading = <LoadingRows />,
  children,
}: {
  readonly query: UseQueryResult<T, unknown>;
  readonly loading?: ReactNode;
  readonly children: (response: T) => ReactNode;
}) {
  if (isDeleted(query)) return <Deleted onRetry={() => void query.refetch()} />;
  if (query.data !== undefined) return children(query.data);
  if (isUnreachable(query.error)) return <Unreachable error={query.error} loading={loading} />;
  if (query.isError) return <ErrorMessage error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}

/** Of the final size, so that nothing shifts; delayed, so that nothing flashes. */
export function LoadingRows({ rows = 8, height = 33 }: { readonly rows?: number; readonly height?: number }) {
  return (
    <Stack gap={1} role="group" aria-busy="true" aria-label="Loading" className="delayed">
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height - 1} radius={2} />
      ))}
    </Stack>
  );
}

export const LoadingPage = () => (
  <Stack gap="md">
    <Skeleton height={28} width={240} radius={2} />
    <LoadingRows rows={10} />
  </Stack>
);

export const ConsoleLoading = () => (
  <Center mih="60vh" role="status" aria-label="Loading">
    <Loader color="gray" type="dots" aria-hidden />
  </Center>
);

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
        {action && (
          <Group mt="xs" gap="xs" justify="center">
            {action}
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

interface NoMatchesProps {
  readonly many: string;
  readonly search?: string | undefined;
  readonly action?: ReactNode;
}

export const NoMatches = ({ many, search, action }: NoMatchesProps) => (
  <Empty title={search ? `No ${many} match "${search}".` : `No matching ${many}`} action={action} />
);
