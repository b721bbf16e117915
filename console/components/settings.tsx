/** A settings form bound to the version that it was filled from, and the deletion of the resource. */
import { Box, Fieldset, Stack } from "@mantine/core";
import { useQueryClient, type FetchQueryOptions } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useAction } from "../api/actions.ts";
import type { OperationResponse, OperationInput, ApiOperation } from "../api/client.ts";
import { DangerButton } from "../ui/dialog.tsx";
import { useGo } from "../ui/link.tsx";
import { Section } from "../ui/page.tsx";
import { ActionForm, type FormDraft } from "./forms.tsx";

interface SettingsFormProps<Values extends object, O extends ApiOperation> {
  readonly title?: string;
  readonly about?: ReactNode;
  readonly draft: FormDraft<Values>;
  readonly operation: O;
  readonly query: FetchQueryOptions<any, any, any, any>;
  readonly etag: string | undefined;
  readonly canUpdate?: boolean;
  readonly readOnly?: string;
  readonly verb?: string;
  readonly done: string;
  readonly after?: (response: OperationResponse<O>) => void;
  readonly input: (version: string | undefined) => OperationInput<O>;
  readonly children: ReactNode;
}

export function SettingsForm<Values extends object, O extends ApiOperation>(props: SettingsFormProps<Values, O>) {
  const { title = "Settings", about, draft, operation, query, etag, canUpdate = true, input, children } = props;
  const client = useQueryClient();
  const save = useAction(operation, {
    done: props.done,
    refusal: "form",
    after: (response) => {
      draft.resetDirty();
      props.after?.(response);
    },
  });
  return (
    <Section
      title={title}
      about={canUpdate ? about : (props.readOnly ?? "You can view these settings but not change them.")}
    >
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={save}
          verb={props.verb ?? "Save"}
          etag={etag}
          reload={async () => ((await client.fetchQuery({ ...query, staleTime: 0 })) as { etag?: string }).etag}
          isReady={canUpdate && draft.isDirty()}
          input={(_, version) => input(version)}
        >
          <Fieldset disabled={!canUpdate} variant="unstyled" p={0}>
            <Stack gap="sm">{children}</Stack>
          </Fieldset>
        </ActionForm>
      </Box>
    </Section>
  );
}

interface DeleteSectionProps<O extends ApiOperation> {
  readonly one: string;
  readonly name: string;
  readonly title?: string;
  readonly about?: ReactNode;
  readonly operation: O;
  readonly input: OperationInput<O>;
  readonly to: string;
  readonly children: ReactNode;
}

export function DeleteSection<O extends ApiOperation>(props: DeleteSectionProps<O>) {
  const { one, name, title = "Delete", about, operation, input, to, children } = props;
  const go = useGo();
  const remove = useAction(operation, {
    done: `Deleted ${one} ${name}.`,
    after: () => go(to, { replace: true }),
  });
  return (
    <Section title={title} about={about}>
      <Box>
        <DangerButton
          verb={`Delete ${one}`}
          title={`Delete ${one} ${name}?`}
          typed={name}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate(input)}
        >
          {children}
        </DangerButton>
      </Box>
    </Section>
  );
}
