/** A secret or link that is shown once, with instructions. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeToCopy } from "./text.tsx";
import { FormDialog } from "./dialog.tsx";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  readonly label: string;
  readonly children?: ReactNode;
  readonly onDone?: () => void;
}

export function SecretOnce({ title, secret, label, children, onDone }: SecretOnceProps) {
  return (
    <Stack>
      <Alert color="teal" title={title} role="status">
        <Stack gap="xs">
          <Text fz="sm" component="div">
            Copy it now. It won't be shown again. {children}
          </Text>
          <CodeToCopy label={label} text={secret} />
        </Stack>
      </Alert>
      {onDone && (
        <Button onClick={onDone} ml="auto">
          I have copied it
        </Button>
      )}
    </Stack>
  );
}

interface LinkOnceProps {
  readonly verb: string;
  /** For screen readers. */
  readonly label: string;
  readonly title: string;
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
