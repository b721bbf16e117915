/** What opens over a page: asking before something is done that can't be taken back, which names the thing and what goes with it; and forms. */
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState, type ReactNode } from "react";

export interface DangerProps {
  readonly opened: boolean;
  readonly title: string;
  /** What goes with it. */
  readonly children: ReactNode;
  /** The verb on the button. */
  readonly verb: string;
  /** To be typed first, where it is worth that. */
  readonly typed?: string;
  readonly isBusy?: boolean;
  /** Wider, where it shows more than a few sentences. */
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

/** A part of its own, so that what was typed is forgotten when the dialog closes. */
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
  /** What the button that opens it says; its verb unless it must be told from its neighbours. */
  readonly label?: string;
  /** In a row of a table: a word, without a frame. */
  readonly isQuiet?: boolean;
}

/** The button and what it asks. It closes when it was confirmed: what became of it is told by a message. */
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

/** A form over the page that it is about. Its content is made anew whenever it opens, and stays as it is while it fades away. */
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
