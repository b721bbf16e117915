/** A secret that is shown once, with what to do now. It is gone when the page is left. */
import { Alert, Button, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CodeToCopy } from "./text.tsx";

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** What it is, for the button that copies it. */
  readonly label: string;
  readonly children?: ReactNode;
  /** Leaves it, where nothing else below does. */
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
