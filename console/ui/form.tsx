/** Forms: they hold what was typed, show each refusal beside its field, and offer a way on when somebody else was faster. */
import { Alert, Button, Group, Stack } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import { useState, type ReactNode } from "react";
import type { Action } from "../api/actions.ts";
import type { Input, Operation } from "../api/client.ts";
import { ApiError, SessionEnded, sortProblems } from "../api/errors.ts";
import { Refusal } from "./states.tsx";

export type Draft<Values extends object> = UseFormReturnType<Values>;

/** What was typed, by the names of the attributes that are sent. */
export const useDraft = <Values extends object>(initialValues: Values): Draft<Values> =>
  useForm<Values>({ initialValues });

/** Only what was changed: a PATCH leaves the rest as it is, also where somebody else has changed it meanwhile. */
export function changesIn<Values extends object>(draft: Draft<Values>): Partial<Values> {
  const all = Object.entries(draft.getValues()) as [string, unknown][];
  return Object.fromEntries(all.filter(([name]) => draft.isDirty(name as never))) as Partial<Values>;
}

export interface ActionFormProps<Values extends object, O extends Operation> {
  readonly draft: Draft<Values>;
  readonly action: Action<O>;
  /** What is sent; `etag` is the version that the form was filled from. */
  readonly input: (values: Values, etag: string | undefined) => Input<O>;
  readonly etag?: string | undefined;
  /** Reads the thing anew and gives its version: what was typed is then sent again on top of it. */
  readonly reload?: () => Promise<string | undefined>;
  readonly verb: string;
  readonly color?: string;
  readonly isReady?: boolean;
  readonly onCancel?: () => void;
  /** What the button beside it says, where that is not "Cancel". */
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
        draft.setErrors(byField as never);
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

interface FormButtonsProps {
  readonly onCancel?: (() => void) | undefined;
  readonly cancelVerb?: string;
  /** The button that does it, last. */
  readonly children: ReactNode;
}

/** The buttons below a form or in a dialog, in one order everywhere: what leaves first, what does it last. */
export function FormButtons({ onCancel, cancelVerb = "Cancel", children }: FormButtonsProps) {
  return (
    <Group gap="xs" mt={4} justify={onCancel ? "flex-end" : "flex-start"}>
      {onCancel && (
        <Button variant="default" onClick={onCancel}>
          {cancelVerb}
        </Button>
      )}
      {children}
    </Group>
  );
}

const focusFirstFault = () => setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), 0);
