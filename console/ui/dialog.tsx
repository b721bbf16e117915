/** Asking before something is done that can't be taken back. It names the thing and what goes with it. */
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
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
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

export function DangerDialog({
  opened,
  title,
  children,
  verb,
  typed,
  isBusy = false,
  onClose,
  onConfirm,
}: DangerProps) {
  const [text, setText] = useState("");
  const isReady = typed === undefined || text === typed;
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={<Text fw={600}>{title}</Text>}
      centered
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) onConfirm();
        }}
      >
        <Stack gap="md">
          <Text component="div">{children}</Text>
          {typed !== undefined && (
            <TextInput
              label={`Type ${typed} to go on`}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              data-autofocus
            />
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" disabled={!isReady} loading={isBusy}>
              {verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
