/** A page that could not be shown, and one that is not there. */
import { Stack } from "@mantine/core";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isAnswering, useIsLost } from "../api/connection.ts";
import { ApiError, SessionEnded, unreachable } from "../api/errors.ts";
import { paths } from "../paths.ts";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Refusal } from "../ui/states.tsx";

/** The code of a page could not be had: the server is away, or another version of it has other files. */
export class CodeMissing extends ApiError {
  constructor() {
    super(0, unreachable().problems);
  }
}

const reloadedAt = "cadastre-reloaded-at";
const againMs = 30_000;

/** The whole console anew, unless that was just tried and did not help. */
function reloadOnce(): boolean {
  if (Date.now() - Number(sessionStorage.getItem(reloadedAt) ?? 0) < againMs) return false;
  sessionStorage.setItem(reloadedAt, String(Date.now()));
  location.reload();
  return true;
}

function WithoutCode() {
  const isLost = useIsLost();
  const [isHopeless, setHopeless] = useState(false);
  useEffect(() => {
    if (!isLost) void isAnswering().then((answers) => answers && setHopeless(!reloadOnce()));
  }, [isLost]);
  if (!isLost && !isHopeless) return null;
  const error = isLost ? unreachable() : "The server does not have the code of this page. Ask whoever runs it.";
  return (
    <Page title="This page could not be loaded">
      <Refusal error={error} onRetry={() => void isAnswering().then((answers) => answers && location.reload())} />
    </Page>
  );
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // On the way to the page of signing in.
  if (error instanceof SessionEnded) return null;
  if (error instanceof CodeMissing) return <WithoutCode />;
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Page title={error instanceof ApiError && error.status === 404 ? "Not found" : "This page could not be shown"}>
      <Stack>
        <Refusal error={error} onRetry={retry} />
      </Stack>
    </Page>
  );
}

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty
        title="There is no page at this address"
        action={<LinkButton to={paths.home()}>All organizations</LinkButton>}
      >
        It may have been renamed or deleted. Ctrl-K finds things by name.
      </Empty>
    </Page>
  );
}
