/** What a body is signed with: typed, or made here and shown so that the receiver can be given it. It never comes back from the server. */
import { Button, PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useState } from "react";
import { CodeToCopy } from "../ui/text.tsx";

interface SigningTokenProps extends Pick<PasswordInputProps, "value" | "error"> {
  readonly onChange: (token: string) => void;
  /** Whether one may be there already, which stays where nothing is typed. */
  readonly isKnown: boolean;
}

/** 256 bits, as text that no shell and no form changes. */
const newToken = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export function SigningToken({ value, error, onChange, isKnown }: SigningTokenProps) {
  const [made, setMade] = useState<string>();
  const make = () => {
    const token = newToken();
    setMade(token);
    onChange(token);
  };
  return (
    <>
      <PasswordInput
        label="Signing token"
        description={`Signs request bodies with HMAC. Leave empty to ${isKnown ? "keep the current token" : "send unsigned requests"}.`}
        autoComplete="off"
        value={value}
        error={error}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {made !== undefined && made === value ? (
        <CodeToCopy label="New token" text={made} />
      ) : (
        <Button variant="default" mr="auto" onClick={make}>
          Generate token
        </Button>
      )}
    </>
  );
}
