/** Error pages: a page that could not be loaded, and one that does not exist. */
import { Button, Group } from "@mantine/core";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isServerReady, isUnreachable, useIsLost } from "../api/connection.ts";
import { ApiError, notFoundDetail, notFoundTitle, SessionEnded, unreachable } from "../api/errors.ts";
import { paths } from "../paths.ts";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, ErrorMessage, Unreachable, unreachableTitle } from "../components/states.tsx";

/** The server can't be reached, or a new version has other files. */
export class CodeMissing extends ApiError {
  constructor() {
    super(0, unreachable().problems);
  }
}

const reloadedAt = "cadastre-reloaded-at";
const againMs = 30_000;

function reloadOnce(): boolean {
  if (Date.now() - Number(sessionStorage.getItem(reloadedAt) ?? 0) < againMs) return false;
  sessionStorage.setItem(reloadedAt, String(Date.now()));
  location.reload();
  return true;
}

const failedTitle = "Couldn't load this page";

const UnreachablePage = ({ error }: { readonly error: unknown }) => (
  <Page title={unreachableTitle}>
    <Unreachable error={error} isPage />
  </Page>
);

function WithoutCode() {
  const isLost = useIsLost();
  const [hasReloadFailed, setReloadFailed] = useState(false);
  useEffect(() => {
    if (!isLost) void isServerReady().then((isReady) => isReady && setReloadFailed(!reloadOnce()));
  }, [isLost]);
  if (isLost) return <UnreachablePage error={unreachable()} />;
  if (!hasReloadFailed) return null;
  return (
    <Page title={failedTitle}>
      <Empty title="Couldn't load this page's code" action={<Reload />}>
        The server may be starting or updating. Reload the page in a moment; if that doesn't help, ask your
        administrator.
      </Empty>
    </Page>
  );
}

const Reload = () => (
  <Button variant="default" onClick={() => location.reload()}>
    Reload
  </Button>
);

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // The redirect to the sign-in page is in progress.
  if (error instanceof SessionEnded) return null;
  if (error instanceof CodeMissing) return <WithoutCode />;
  if (isUnreachable(error)) return <UnreachablePage error={error} />;
  const retry = () => {
    reset();
    void router.invalidate();
  };
  if (error instanceof ApiError && error.isMissing)
    return (
      <Page title={notFoundTitle(error)}>
        <Empty
          title={notFoundDetail}
          action={
            <Group gap="xs">
              <Button variant="default" onClick={retry}>
                Try again
              </Button>
              <LinkButton to={paths.home()}>All organizations</LinkButton>
            </Group>
          }
        />
      </Page>
    );
  return (
    <Page title={failedTitle}>
      <ErrorMessage error={error} onRetry={retry} />
    </Page>
  );
}

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        title="There is no page at this address"
        action={<LinkButton to={paths.home()}>All organizations</LinkButton>}
      >
        It may have been renamed or deleted. Press Ctrl K to search by name.
      </Empty>
    </Page>
  );
}
