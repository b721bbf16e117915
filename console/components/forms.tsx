/** Forms that send an operation: errors beside their fields, and a retry when somebody else changed the resource first. */
import { Alert, Button, Group, Stack } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useState, type ReactNode } from "react";
import { useAction, type Action, type ActionOptions } from "../api/actions.ts";
import type { Input, Operation } from "../api/client.ts";
import { ApiError, SessionEnded, sortProblems } from "../api/errors.ts";
import { FormButtons } from "../ui/dialog.tsx";
import { Refusal } from "./states.tsx";

export type Draft<Values extends object> = UseFormReturnType<Values>;

export const useDraft = <Values extends object>(initialValues: Values): Draft<Values> =>
  useForm<Values>({ initialValues });

/** Only the changed values: a PATCH must not overwrite what others have changed meanwhile. */
export function changesIn<Values extends object>(draft: Draft<Values>): Partial<Values> {
  const all = Object.entries(draft.getValues()) as [string, unknown][];
  return Object.fromEntries(all.filter(([name]) => draft.isDirty(name))) as Partial<Values>;
}

export interface ActionFormProps<Values extends object, O extends Operation> {
  readonly draft: Draft<Values>;
  readonly action: Action<O>;
  /** The request; `etag` is the version that the form was filled from. */
  readonly input: (values: Values, etag: string | undefined) => Input<O>;
  readonly etag?: string | undefined;
  /** Refetches the resource and returns its version; the values are then sent again on top of it. */
  readonly reload?: () => Promise<string | undefined>;
  readonly verb: string;
  readonly color?: string;
  readonly isReady?: boolean;
  readonly onCancel?: () => void;
  readonly cancelVerb?: string;
  readonly children: ReactNode;
}

export function ActionForm<Values extends object, O extends Operation>(props: ActionFormProps<Values, O>) {
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
        {rest && <Refusal error={rest} {...(!(rest instanceof SessionEnded) && { title: "Request failed" })} />}
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

interface OperationFormProps<Values extends object, O extends Operation>
  extends Omit<ActionFormProps<Values, O>, "action">, Pick<ActionOptions<O>, "done" | "after"> {
  readonly operation: O;
}

export function OperationForm<Values extends object, O extends Operation>(props: OperationFormProps<Values, O>) {
  const { operation, done, after, ...rest } = props;
  const action = useAction(operation, { done, refusal: "form", ...(after && { after }) });
  return <ActionForm action={action} {...rest} />;
}

const focusFirstFault = () => setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), 0);

export interface Sending<O extends Operation> {
  readonly operation: O;
  readonly input: () => Input<O>;
}

interface MakeOrSaveProps<Values extends { readonly name: string }, Make extends Operation, Save extends Operation> {
  readonly draft: Draft<Values>;
  readonly noun: string;
  readonly make: Sending<Make>;
  readonly save: Sending<Save> | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** One form to create a resource, or to update one by sending only what was changed. */
export function MakeOrSave<Values extends { readonly name: string }, Make extends Operation, Save extends Operation>({
  draft,
  noun,
  make,
  save,
  onClose,
  children,
}: MakeOrSaveProps<Values, Make, Save>) {
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
      input={input as () => Input<Make | Save>}
    >
      {children}
    </OperationForm>
  );
}
