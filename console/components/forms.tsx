/** Forms that send an operation: each refusal beside its field, and a way on when somebody else was faster. */
import { Alert, Box, Button, Fieldset, Group, Stack } from "@mantine/core";
import { useQueryClient, type FetchQueryOptions } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useAction, type Action } from "../api/actions.ts";
import type { Answer, Input, Operation } from "../api/client.ts";
import { ApiError, SessionEnded, sortProblems } from "../api/errors.ts";
import { DangerButton, FormButtons } from "../ui/dialog.tsx";
import { useGo } from "../ui/link.tsx";
import { Section } from "../ui/page.tsx";
import { Refusal } from "./states.tsx";
import { useForm, type UseFormReturnType } from "@mantine/form";

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

const focusFirstFault = () => setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), 0);

/** An operation, and what it is sent. */
export interface Sending<O extends Operation> {
  readonly operation: O;
  readonly input: () => Input<O>;
}

interface MakeOrSaveProps<Values extends { readonly name: string }, Make extends Operation, Save extends Operation> {
  readonly draft: Draft<Values>;
  /** As buttons call it: `webhook`. */
  readonly noun: string;
  readonly make: Sending<Make>;
  /** Undefined for what is not there yet. */
  readonly save: Sending<Save> | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** One form for both: a new thing, or an existing one, of which only what was changed is sent. */
export function MakeOrSave<Values extends { readonly name: string }, Make extends Operation, Save extends Operation>({
  draft,
  noun,
  make,
  save,
  onClose,
  children,
}: MakeOrSaveProps<Values, Make, Save>) {
  const { operation, input } = save ?? make;
  const action = useAction(operation, {
    refusal: "form",
    after: onClose,
    done: `${save ? "Saved" : "Created"} ${noun} ${draft.values.name}.`,
  });
  return (
    <ActionForm
      draft={draft}
      action={action}
      verb={save ? "Save" : `Create ${noun}`}
      onCancel={onClose}
      isReady={!save || draft.isDirty()}
      input={input as () => Input<Make | Save>}
    >
      {children}
    </ActionForm>
  );
}

interface SettingsFormProps<Values extends object, O extends Operation> {
  readonly title?: string;
  readonly about?: ReactNode;
  readonly draft: Draft<Values>;
  readonly operation: O;
  /** How the thing is read, for when somebody else was faster. */
  readonly query: FetchQueryOptions<any, any, any, any>;
  readonly etag: string | undefined;
  readonly mayUpdate?: boolean;
  /** What is said to those who may only read. */
  readonly readOnly?: string;
  readonly verb?: string;
  readonly done: string;
  readonly after?: (answer: Answer<O>) => void;
  readonly input: (version: string | undefined) => Input<O>;
  readonly children: ReactNode;
}

/** The settings of one thing, bound to the version that the form was filled from. */
export function SettingsForm<Values extends object, O extends Operation>(props: SettingsFormProps<Values, O>) {
  const { title = "Settings", about, draft, operation, query, etag, mayUpdate = true, input, children } = props;
  const client = useQueryClient();
  const save = useAction(operation, {
    done: props.done,
    refusal: "form",
    after: (answer) => {
      draft.resetDirty();
      props.after?.(answer);
    },
  });
  return (
    <Section
      title={title}
      about={mayUpdate ? about : (props.readOnly ?? "You can view these settings but not change them.")}
    >
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={save}
          verb={props.verb ?? "Save"}
          etag={etag}
          reload={async () => ((await client.fetchQuery({ ...query, staleTime: 0 })) as { etag?: string }).etag}
          isReady={mayUpdate && draft.isDirty()}
          input={(_, version) => input(version)}
        >
          <Fieldset disabled={!mayUpdate} variant="unstyled" p={0}>
            <Stack gap="sm">{children}</Stack>
          </Fieldset>
        </ActionForm>
      </Box>
    </Section>
  );
}

interface EndProps<O extends Operation> {
  /** "team": what it is. */
  readonly one: string;
  readonly name: string;
  readonly title?: string;
  readonly about?: ReactNode;
  readonly operation: O;
  readonly input: Input<O>;
  /** Where one is afterwards. */
  readonly to: string;
  /** What goes with it. */
  readonly children: ReactNode;
}

/** Its end, by typing its name. */
export function End<O extends Operation>(props: EndProps<O>) {
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

export type Draft<Values extends object> = UseFormReturnType<Values>;

/** What was typed, by the names of the attributes that are sent. */
export const useDraft = <Values extends object>(initialValues: Values): Draft<Values> =>
  useForm<Values>({ initialValues });

/** Only what was changed: a PATCH leaves the rest as it is, also where somebody else has changed it meanwhile. */
export function changesIn<Values extends object>(draft: Draft<Values>): Partial<Values> {
  const all = Object.entries(draft.getValues()) as [string, unknown][];
  return Object.fromEntries(all.filter(([name]) => draft.isDirty(name))) as Partial<Values>;
}
