/** Forms that send an operation, with errors beside their fields and a retry after a conflicting change. */
import { Alert, Button, Group, Stack } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useState, type ReactNode } from "react";
import { useAction, type ApiAction, type ActionOptions } from "../api/actions.ts";
import type { OperationInput, ApiOperation } from "../api/client.ts";
import { ApiError, SessionEnded, sortProblems } from "../api/errors.ts";
import { FormButtons } from "../ui/dialog.tsx";
import { ErrorMessage } from "./states.tsx";

export type FormDraft<Values extends object> = UseFormReturnType<Values>;

export const useDraft = <Values extends object>(initialValues: Values): FormDraft<Values> =>
  useForm<Values>({ initialValues });

/** A PATCH must not overwrite what others have changed meanwhile. */
export function changesIn<Values extends object>(draft: FormDraft<Values>): Partial<Values> {
  const all = Object.entries(draft.getValues()) as [string, unknown][];
  return Object.fromEntries(all.filter(([name]) => draft.isDirty(name))) as Partial<Values>;
}

export interface ActionFormProps<Values extends object, O extends ApiOperation> {
  readonly draft: FormDraft<Values>;
  readonly action: ApiAction<O>;
  /** `etag` is the version that the form was filled from. */
  readonly input: (values: Values, etag: string | undefined) => OperationInput<O>;
  readonly etag?: string | undefined;
  /** Returns the new version, on top of which the values are sent again. */
  readonly reload?: () => Promise<string | undefined>;
  readonly verb: string;
  readonly color?: string;
  readonly isReady?: boolean;
  readonly onCancel?: () => void;
  readonly cancelVerb?: string;
  readonly children: ReactNode;
}

export function ActionForm<Values extends object, O extends ApiOperation>(props: ActionFormProps<Values, O>) {
  const {
    draft,
    action,
    input,
    etag,
    reload,
    verb,
    color,
    isReady = true,
    onCancel,
    cancelVerb = "Cancel",
    children,
  } = props;
  const [rest, setRest] = useState<ApiError>();
  const [stale, setStale] = useState(false);
  const send = (version: string | undefined) => {
    setRest(undefined);
    setStale(false);
    draft.clearErrors();
    action.mutate(input(draft.getValues(), version), {
      onError: (error) => {
        if (error instanceof ApiError && error.isStale && reload) return setStale(true);
        if (error instanceof SessionEnded) return setRest(error);
        const { byField, rest } = sortProblems(error, Object.keys(draft.getValues()));
        draft.setErrors(byField);
        if (rest.length > 0)
          setRest(
            new ApiError(
              error.status,
              rest.map((detail) => ({ title: "", detail, pointer: undefined })),
            ),
          );
        else focusFirstFault();
      },
    });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send(etag);
      }}
    >
      <Stack gap="sm">
        {children}
        {rest && <ErrorMessage error={rest} {...(!(rest instanceof SessionEnded) && { title: "Request failed" })} />}
        {stale && reload && (
          <Alert color="yellow" title="Someone else changed this" role="alert">
            Nothing was saved, and what you typed is still here. Apply it to the new version, or leave the form to see
            that version first.
            <Group mt="sm">
              <Button variant="default" onClick={() => void reload().then(send).catch(setRest)}>
                Reload and apply mine
              </Button>
            </Group>
          </Alert>
        )}
        <FormButtons onCancel={onCancel} cancelVerb={cancelVerb}>
          <Button type="submit" loading={action.isPending} disabled={!isReady} color={color}>
            {verb}
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

interface OperationFormProps<Values extends object, O extends ApiOperation>
  extends Omit<ActionFormProps<Values, O>, "action">, Pick<ActionOptions<O>, "done" | "after"> {
  readonly operation: O;
}

export function OperationForm<Values extends object, O extends ApiOperation>(props: OperationFormProps<Values, O>) {
  const { operation, done, after, ...rest } = props;
  const action = useAction(operation, { done, refusal: "form", ...(after && { after }) });
  return <ActionForm action={action} {...rest} />;
}

const focusFirstFault = () => setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), 0);

export interface FormRequest<O extends ApiOperation> {
  readonly operation: O;
  readonly input: () => OperationInput<O>;
}

interface CreateOrUpdateFormProps<
  Values extends { readonly name: string },
  Make extends ApiOperation,
  Save extends ApiOperation,
> {
  readonly draft: FormDraft<Values>;
  readonly noun: string;
  readonly make: FormRequest<Make>;
  readonly save: FormRequest<Save> | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function CreateOrUpdateForm<
  Values extends { readonly name: string },
  Make extends ApiOperation,
  Save extends ApiOperation,
>({ draft, noun, make, save, onClose, children }: CreateOrUpdateFormProps<Values, Make, Save>) {
  const { operation, input } = save ?? make;
  return (
    <OperationForm
      draft={draft}
      operation={operation}
      done={`${save ? "Saved" : "Created"} ${noun} ${draft.values.name}.`}
      after={onClose}
      verb={save ? "Save" : `Create ${noun}`}
      onCancel={onClose}
      isReady={!save || draft.isDirty()}
      input={input as () => OperationInput<Make | Save>}
    >
      {children}
    </OperationForm>
  );
}
