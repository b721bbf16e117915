/** What changes of access would do, told before they are made; and made exactly as they were told, or not at all. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useAction } from "../api/actions.ts";
import { call, type Answer } from "../api/client.ts";
import type { ApiError } from "../api/errors.ts";
import { FormButtons } from "../ui/form.tsx";
import { LoadingRows, Refusal } from "../ui/states.tsx";
import type { Change } from "./changes.ts";
import { Effects, type Told } from "./effects.tsx";

const operation = "POST /organizations/{organization_name}/access-previews";

const bodyOf = (changes: readonly Change[], more: object = {}) => ({
  data: { type: "access-previews" as const, attributes: { changes, ...more } },
});

/** A question, though it is sent as a POST: nothing comes of it but the answer. */
const asked = (organization: string, changes: readonly Change[]) =>
  queryOptions<Answer<typeof operation>, ApiError>({
    queryKey: ["what would change", organization, changes],
    queryFn: ({ signal }) =>
      call(operation, { path: { organization_name: organization }, body: bodyOf(changes) }, signal),
    gcTime: 0,
    placeholderData: keepPreviousData,
  });

export interface PreviewProps {
  readonly organization: string;
  readonly changes: readonly Change[];
  /** On the button: "Grant access". */
  readonly verb: string;
  readonly color?: string;
  /** What was done, in a sentence. */
  readonly done: string;
  readonly after?: () => void;
  readonly onCancel?: () => void;
  /** While somebody is still typing: what is shown is about to change. */
  readonly isSettling?: boolean;
  /** Whatever else would change, told between the preview and the button. */
  readonly children?: ReactNode;
}

export function Preview(props: PreviewProps) {
  const { organization, changes, verb, color, done, after, onCancel, isSettling = false, children } = props;
  const query = useQuery(asked(organization, changes));
  const [isOutdated, setOutdated] = useState(false);
  const action = useAction(operation, { done, refusal: "form", ...(after && { after }) });
  const told = query.data?.data.attributes;
  const apply = () =>
    action.mutate(
      {
        path: { organization_name: organization },
        body: bodyOf(changes, { "access-version": told?.["access-version"], apply: true }),
      },
      {
        onError: (error) => {
          setOutdated(error.isStale);
          if (error.isStale) void query.refetch();
        },
        onSuccess: () => setOutdated(false),
      },
    );
  if (query.isError && !told) return <Refusal error={query.error} />;
  if (!told) return <LoadingRows rows={4} />;
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      {isOutdated && (
        <Alert
          color="yellow"
          title="Access changed meanwhile, here is the new preview"
          role="alert"
          styles={{ label: { color: "var(--mantine-color-text)" } }}
        >
          Nothing was done. Somebody changed who may do what since this was asked; look again, then confirm.
        </Alert>
      )}
      <Effects told={told} />
      {children}
      {!told.allowed && <NotAllowed changes={told.changes} />}
      {action.error && !action.error.isStale && <Refusal error={action.error} />}
      <FormButtons onCancel={onCancel}>
        {told.allowed && (
          <Button onClick={apply} loading={action.isPending} disabled={query.isFetching || isSettling} color={color}>
            {verb}
          </Button>
        )}
      </FormButtons>
    </Stack>
  );
}

function NotAllowed({ changes }: { readonly changes: Told["changes"] }) {
  const refusals = [...new Set(changes.flatMap(({ refusal }) => (refusal === null ? [] : [refusal])))];
  return (
    <Alert color="red" title="You may not do this" role="alert">
      {refusals.map((refusal) => (
        <Text key={refusal}>{refusal}</Text>
      ))}
    </Alert>
  );
}
