/** A button that has a link made which is shown once, in a dialog, to be copied. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { FormDialog } from "./dialog.tsx";
import { SecretOnce } from "./secret.tsx";

interface LinkOnceProps {
  readonly verb: string;
  /** Whose, for those who can't see the row. */
  readonly label: string;
  readonly title: string;
  /** What the link is, for the button that copies it. */
  readonly what: string;
  readonly link: string | undefined;
  readonly isBusy: boolean;
  readonly onMake: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

export function LinkOnce({ verb, label, title, what, link, isBusy, onMake, onClose, children }: LinkOnceProps) {
  return (
    <>
      <Button variant="subtle" size="compact-xs" loading={isBusy} aria-label={label} onClick={onMake}>
        {verb}
      </Button>
      <FormDialog opened={link !== undefined} onClose={onClose} title={title}>
        <SecretOnce title="New link" label={what} secret={link ?? ""} onDone={onClose}>
          {children}
        </SecretOnce>
      </FormDialog>
    </>
  );
}
