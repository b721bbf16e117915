/** One form for both: a new thing, or one that is there, of which only what was changed is sent. */
import type { ReactNode } from "react";
import { useAction } from "../api/actions.ts";
import type { Input, Operation } from "../api/client.ts";
import { ActionForm, type Draft } from "./form.tsx";

/** An operation, and what it is sent. */
export interface Sending<O extends Operation> {
  readonly operation: O;
  readonly input: () => Input<O>;
}

interface MakeOrSaveProps<Values extends { readonly name: string }, Make extends Operation, Save extends Operation> {
  readonly draft: Draft<Values>;
  /** As buttons call it, with or without its article: `the webhook`. */
  readonly noun: string;
  readonly make: Sending<Make>;
  /** Undefined for what is not there yet. */
  readonly save: Sending<Save> | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function MakeOrSave<Values extends { readonly name: string }, Make extends Operation, Save extends Operation>({
  draft,
  noun,
  make,
  save,
  onClose,
  children,
}: MakeOrSaveProps<Values, Make, Save>) {
  const { operation, input } = save ?? make;
  const one = noun.replace(/^(the|an?) /, "");
  const action = useAction(operation, {
    refusal: "form",
    after: onClose,
    done: `${save ? "Saved" : "Created"} ${one} ${draft.values.name}.`,
  });
  return (
    <ActionForm
      draft={draft}
      action={action}
      verb={save ? "Save" : `Create ${one}`}
      onCancel={onClose}
      isReady={!save || draft.isDirty()}
      input={input as () => Input<Make | Save>}
    >
      {children}
    </ActionForm>
  );
}
