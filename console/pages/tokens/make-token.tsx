/** Making a token of any kind: what it is for, until when; then the secret, once. */
import { Button, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { Input } from "../../api/client.ts";
import { useOpened } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { inDays, MomentInput } from "../../ui/moment.tsx";
import { SecretOnce } from "../../ui/secret.tsx";
import { lifetimes } from "./words.ts";

type Making =
  | "POST /users/{user_id}/authentication-tokens"
  | "POST /teams/{team_id}/authentication-tokens"
  | "POST /organizations/{organization_name}/authentication-token"
  | "POST /agent-pools/{agent_pool_id}/authentication-tokens"
  | "POST /admin/agent-pools/{site_agent_pool_id}/authentication-tokens";

export interface MakeTokenProps<O extends Making> {
  readonly operation: O;
  readonly path: Input<O>["path"];
  readonly query?: Record<string, string>;
  /** On the button: "Make a token". */
  readonly verb: string;
  /** Whose it will be, for the title. */
  readonly holder: string;
  /** What it replaces, if anything: said in the form. */
  readonly warning?: string;
  /** Agents' tokens have no end. */
  readonly isEndless?: boolean;
  readonly isQuiet?: boolean;
  /** What `?open=` calls its dialog. */
  readonly dialog?: string;
}

export function MakeToken<O extends Making>(props: MakeTokenProps<O>) {
  const { verb, holder, isQuiet = false } = props;
  const [opened, { open, close }] = useOpened(props.dialog);
  return (
    <>
      <Button
        onClick={open}
        variant={isQuiet ? "subtle" : "default"}
        size={isQuiet ? "compact-xs" : "xs"}
        aria-label={isQuiet ? `${verb} ${holder}` : undefined}
      >
        {verb}
      </Button>
      <FormDialog opened={opened} onClose={close} title={`${verb} for ${holder}`}>
        <MakeTokenForm {...props} onClose={close} />
      </FormDialog>
    </>
  );
}

function MakeTokenForm<O extends Making>(props: MakeTokenProps<O> & { readonly onClose: () => void }) {
  const { operation, path, query, verb, warning, isEndless = false, onClose } = props;
  const [secret, setSecret] = useState<string>();
  const [days, setDays] = useState("90");
  const draft = useDraft({ description: "", "expired-at": inDays(90) });
  // All of these answer the token, with its secret this once.
  const make = useAction(operation as "POST /users/{user_id}/authentication-tokens", {
    done: "Made the token.",
    refusal: "form",
    after: ({ data }) => setSecret(data.attributes.token ?? undefined),
  });
  if (secret !== undefined)
    return (
      <Stack>
        <SecretOnce title="The token" label="The token" secret={secret} />
        <Button onClick={onClose} ml="auto" display="block">
          I have copied it
        </Button>
      </Stack>
    );
  return (
    <ActionForm
      draft={draft}
      action={make}
      verb={verb}
      onCancel={onClose}
      input={({ description, "expired-at": end }) => ({
        path: path as never,
        ...(query && { query }),
        body: {
          data: {
            type: "authentication-tokens",
            attributes: { description, ...(!isEndless && { "expired-at": days === "never" ? null : end }) },
          },
        },
      })}
    >
      {warning}
      <TextInput
        label="What it is for"
        placeholder="CI of the network team"
        description="So that whoever meets it later knows what would stop without it."
        {...draft.getInputProps("description")}
        data-autofocus
      />
      {!isEndless && (
        <Select
          label="It works for"
          data={lifetimes}
          value={days}
          error={days === "" ? undefined : draft.errors["expired-at"]}
          onChange={(value) => {
            setDays(value ?? "");
            if (value && value !== "never") draft.setFieldValue("expired-at", inDays(Number(value)));
          }}
        />
      )}
      {!isEndless && days === "" && <MomentInput label="Until" {...draft.getInputProps("expired-at")} />}
    </ActionForm>
  );
}
