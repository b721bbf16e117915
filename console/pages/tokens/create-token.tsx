/** Creates a token of any kind, then shows its secret once. */
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { OperationInput } from "../../api/client.ts";
import { useOpened } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { type Expiry, expiryFault, expiryInstant } from "../../ui/expiry.ts";
import { ExpiryInput, longExpiries } from "../../ui/expiry-input.tsx";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { SecretOnce } from "../../ui/secret.tsx";

type TokenOperation =
  | "POST /users/{user_id}/authentication-tokens"
  | "POST /teams/{team_id}/authentication-tokens"
  | "POST /organizations/{organization_name}/authentication-token"
  | "POST /agent-pools/{agent_pool_id}/authentication-tokens"
  | "POST /admin/agent-pools/{site_agent_pool_id}/authentication-tokens";

export interface CreateTokenProps<O extends TokenOperation> {
  readonly operation: O;
  readonly path: OperationInput<O>["path"];
  readonly query?: Record<string, string>;
  readonly verb: string;
  readonly holder: string;
  readonly warning?: string;
  readonly isEndless?: boolean;
  readonly isQuiet?: boolean;
  readonly dialog?: string;
}

export function CreateToken<O extends TokenOperation>(props: CreateTokenProps<O>) {
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
        <CreateTokenForm {...props} onClose={close} />
      </FormDialog>
    </>
  );
}

function CreateTokenForm<O extends TokenOperation>(props: CreateTokenProps<O> & { readonly onClose: () => void }) {
  const { operation, path, query, verb, warning, isEndless = false, onClose } = props;
  const [secret, setSecret] = useState<string>();
  const draft = useDraft({ description: "", "expired-at": { seconds: 90 * 86_400 } as Expiry });
  // All of these operations return the token with its secret.
  const make = useAction(operation as "POST /users/{user_id}/authentication-tokens", {
    done: "Created the token.",
    refusal: "form",
    after: ({ data }) => setSecret(data.attributes.token ?? undefined),
  });
  if (secret !== undefined) return <SecretOnce title="New token" label="New token" secret={secret} onDone={onClose} />;
  return (
    <ActionForm
      draft={draft}
      action={make}
      verb={verb}
      onCancel={onClose}
      isReady={isEndless || expiryFault(draft.getValues()["expired-at"]) === undefined}
      input={({ description, "expired-at": expiry }) => ({
        path: path as OperationInput<"POST /users/{user_id}/authentication-tokens">["path"],
        ...(query && { query }),
        body: {
          data: {
            type: "authentication-tokens",
            attributes: { description, ...(!isEndless && { "expired-at": expiryInstant(expiry) }) },
          },
        },
      })}
    >
      {warning}
      <TextInput
        label="Description"
        placeholder="Network team CI"
        description="What the token is used for."
        {...draft.getInputProps("description")}
        data-autofocus
      />
      {!isEndless && (
        <ExpiryInput choices={longExpiries} never="The token has no expiry." {...draft.getInputProps("expired-at")} />
      )}
    </ActionForm>
  );
}
