/** A page that could not be shown, and one that is not there. */
import { Stack } from "@mantine/core";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { ApiError } from "../api/errors.ts";
import { paths } from "../paths.ts";
import { LinkButton } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Refusal } from "../ui/states.tsx";

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // On the way to the page of signing in.
  if (error instanceof ApiError && error.status === 401) return null;
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
