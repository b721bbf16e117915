/** What was typed into a form, and the buttons below it. */
import { Button, Group } from "@mantine/core";
import { useForm, type UseFormReturnType } from "@mantine/form";
import type { ReactNode } from "react";

export type Draft<Values extends object> = UseFormReturnType<Values>;

/** What was typed, by the names of the attributes that are sent. */
export const useDraft = <Values extends object>(initialValues: Values): Draft<Values> =>
  useForm<Values>({ initialValues });

/** Only what was changed: a PATCH leaves the rest as it is, also where somebody else has changed it meanwhile. */
export function changesIn<Values extends object>(draft: Draft<Values>): Partial<Values> {
  const all = Object.entries(draft.getValues()) as [string, unknown][];
  return Object.fromEntries(all.filter(([name]) => draft.isDirty(name))) as Partial<Values>;
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
