/** A private key as text: it goes in, and is never shown again. */
import { Textarea, type TextareaProps } from "@mantine/core";

export const PrivateKeyInput = (props: TextareaProps) => (
  <Textarea
    label="Private key"
    description="Use a key without a passphrase. Cadastre encrypts it and never shows it again."
    autosize
    minRows={4}
    maxRows={16}
    classNames={{ input: "mono" }}
    autoComplete="off"
    spellCheck={false}
    {...props}
  />
);
