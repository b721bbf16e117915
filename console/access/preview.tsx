/** Previews changes of access, and applies them only if access is still as the preview showed it. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { useAction } from "../api/actions.ts";
import { ApiError, sortProblems } from "../api/errors.ts";
import { FormButtons, FormDialog } from "../ui/dialog.tsx";
import { LoadingRows, ErrorMessage } from "../components/states.tsx";
import type { AccessChange } from "./changes.ts";
import { Effects, type AccessPreview } from "./effects.tsx";
import { MatchingRules } from "./matching-rules.tsx";
import { previewBody, previewOf, previewOperation, rulesOf } from "./preview-query.ts";
import { AccessRequestForm, type RequestDraft } from "./request-form.tsx";

export type FieldFaults = Readonly<Record<string, string>>;

const noFaults: FieldFaults = {};
const noFields: readonly string[] = [];

function useOtherProblems(error: ApiError | null, { fields = noFields, onFaults }: PreviewProps): ApiError | undefined {
  useEffect(
    () => onFaults?.(error === null ? noFaults : sortProblems(error, fields).byField),
    [error, fields, onFaults],
  );
  if (error === null || error.isStale) return undefined;
  const { rest } = sortProblems(error, fields);
  const problems = rest.map((detail) => ({ title: "", detail, pointer: undefined }));
  return rest.length === 0 ? undefined : new ApiError(error.status, problems);
}

export interface PreviewProps {
  readonly organization: string;
  readonly changes: readonly AccessChange[];
  /** For changes that depend on the time of sending, such as an expiry "in 1 hour". */
  readonly changesNow?: () => readonly AccessChange[];
  readonly fields?: readonly string[];
  readonly onFaults?: (faults: FieldFaults) => void;
  readonly verb: string;
  readonly color?: string;
  readonly done: string;
  readonly after?: () => void;
  readonly onCancel?: () => void;
  readonly isSettling?: boolean;
  /** What a refused change becomes as a request; otherwise the changes as they are. */
  readonly request?: { readonly changes: readonly AccessChange[]; readonly draft: RequestDraft };
  readonly children?: ReactNode;
  /** For a bar that stays in view. */
  readonly buttonsWithin?: HTMLElement | null;
}

export function Preview(props: PreviewProps) {
  const { organization, changes, changesNow, verb, color, done, after, onCancel, isSettling = false, children } = props;
  const query = useQuery(previewOf(organization, changes));
  const [isOutdated, setOutdated] = useState(false);
  const action = useAction(previewOperation, { done, refusal: "form", ...(after && { after }) });
  const preview = query.data?.data.attributes;
  const error = useOtherProblems(query.error ?? action.error, props);
  const apply = () =>
    action.mutate(
      {
        path: { organization_name: organization },
        body: previewBody(changesNow?.() ?? changes, { "access-version": preview?.["access-version"], apply: true }),
      },
      {
        onError: (error) => {
          setOutdated(error.isStale);
          if (error.isStale) void query.refetch();
        },
        onSuccess: () => setOutdated(false),
      },
    );
  if (query.isError && !preview) return error ? <ErrorMessage error={error} /> : null;
  if (!preview) return <LoadingRows rows={4} />;
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      {isOutdated && (
        <Alert
          color="yellow"
          title="Access has changed. Here is the new preview"
          role="alert"
          styles={{ label: { color: "var(--mantine-color-text)" } }}
        >
          Nothing was saved. Someone changed access after this preview was created. Review it again, then confirm.
        </Alert>
      )}
      <Effects preview={preview} />
      {children}
      <MatchingRules rules={rulesOf(preview)} />
      {!preview.allowed && <NotAllowed changes={preview.changes} />}
      {error && <ErrorMessage error={error} />}
      <Buttons within={props.buttonsWithin} onCancel={onCancel}>
        {preview.allowed && (
          <Button onClick={apply} loading={action.isPending} disabled={query.isFetching || isSettling} color={color}>
            {verb}
          </Button>
        )}
        {!preview.allowed && (
          <RequestApproval
            organization={organization}
            changes={props.request?.changes ?? changes}
            draft={props.request?.draft}
            isDisabled={isSettling}
          />
        )}
      </Buttons>
    </Stack>
  );
}

interface RequestApprovalProps {
  readonly organization: string;
  readonly changes: readonly AccessChange[];
  readonly draft: RequestDraft | undefined;
  readonly isDisabled: boolean;
}

function RequestApproval({ organization, changes, draft, isDisabled }: RequestApprovalProps) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button onClick={open} disabled={isDisabled}>
        Request approval
      </Button>
      <FormDialog opened={opened} onClose={close} title="Request approval">
        <AccessRequestForm organization={organization} changes={changes} initial={draft} onCancel={close} />
      </FormDialog>
    </>
  );
}

interface ButtonsProps {
  readonly within: HTMLElement | null | undefined;
  readonly onCancel: (() => void) | undefined;
  readonly children: ReactNode;
}

function Buttons({ within, onCancel, children }: ButtonsProps) {
  const buttons = <FormButtons onCancel={onCancel}>{children}</FormButtons>;
  return within ? createPortal(buttons, within) : buttons;
}

function NotAllowed({ changes }: { readonly changes: AccessPreview["changes"] }) {
  const refusals = [...new Set(changes.flatMap(({ refusal }) => (refusal === null ? [] : [refusal])))];
  return (
    <Alert color="red" title="You can't do this" role="alert">
      {refusals.map((refusal) => (
        <Text key={refusal}>{refusal}</Text>
      ))}
    </Alert>
  );
}
