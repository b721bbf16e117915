/** Dialogs: confirmation of what can't be undone, and forms. */
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState, type ReactNode } from "react";

export interface DangerProps {
  readonly opened: boolean;
  readonly title: string;
  readonly children: ReactNode;
  readonly verb: string;
  readonly typed?: string;
  readonly isBusy?: boolean;
  readonly size?: string;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

const DialogTitle = ({ children }: { readonly children: ReactNode }) => (
  <Text fw={600} className="wrapped">
    {children}
  </Text>
);

export function DangerDialog({ opened, title, size = "md", onClose, ...form }: DangerProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={<DialogTitle>{title}</DialogTitle>}
      size={size}
      centered
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <DangerForm {...form} onClose={onClose} />
    </Modal>
  );
}

/** A separate component, so that closing resets the typed text. */
function DangerForm({
  children,
  verb,
  typed,
  isBusy = false,
  onClose,
  onConfirm,
}: Omit<DangerProps, "opened" | "title" | "size">) {
  const [text, setText] = useState("");
  const isReady = typed === undefined || text === typed;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) onConfirm();
      }}
    >
      <Stack gap="md">
        <Text component="div" className="wrapped">
          {children}
        </Text>
        {typed !== undefined && (
          <TextInput
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            data-autofocus
          />
        )}
        <FormButtons onCancel={onClose}>
          <Button type="submit" color="red" disabled={!isReady} loading={isBusy}>
            {verb}
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

export interface DangerButtonProps extends Pick<DangerProps, "title" | "children" | "verb" | "typed" | "isBusy"> {
  readonly onConfirm: () => void;
  readonly label?: string;
  readonly isQuiet?: boolean;
}

export function DangerButton({ onConfirm, label, isQuiet = false, verb, ...dialog }: DangerButtonProps) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button
        variant={isQuiet ? "subtle" : "outline"}
        color="red"
        size={isQuiet ? "compact-xs" : "xs"}
        onClick={open}
        aria-label={label}
      >
        {verb}
      </Button>
      <DangerDialog
        {...dialog}
        verb={verb}
        opened={opened}
        onClose={close}
        onConfirm={() => {
          close();
          onConfirm();
        }}
      />
    </>
  );
}

export interface FormDialogProps {
  readonly opened: boolean;
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Content is created on each opening, and stays while it fades out. */
export function FormDialog({ opened, title, onClose, children }: FormDialogProps) {
  const [shown, setShown] = useState({ title, children });
  if (opened && (shown.title !== title || shown.children !== children)) setShown({ title, children });
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={<DialogTitle>{opened ? title : shown.title}</DialogTitle>}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {opened ? children : shown.children}
    </Modal>
  );
}

interface FormButtonsProps {
  readonly onCancel?: (() => void) | undefined;
  readonly cancelVerb?: string;
  readonly children: ReactNode;
}

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
