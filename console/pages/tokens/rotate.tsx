/** Rotates a token: creates its successor, shows it once, and then revokes the old one on request. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { type Expiry, expiryFault, expiryInstant } from "../../ui/expiry.ts";
import { ExpiryInput, longExpiries } from "../../ui/expiry-input.tsx";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { serverNow } from "../../now.ts";
import { SecretOnce } from "../../ui/secret.tsx";
import type { Token } from "./table.tsx";

export interface RotateProps {
  readonly token: Token;
  readonly holder:
    | { readonly kind: "users" | "teams"; readonly id: string }
    /** The new token replaces the old one immediately. */
    | { readonly kind: "organizations"; readonly id: string; readonly query?: Record<string, string> };
}

const hourMs = 3_600_000;
/** The lifetime compares two clocks. */
const roundingMs = 300_000;

function lifetimeOf({ attributes }: Token): Expiry {
  const { "created-at": created, "expired-at": ends } = attributes;
  if (ends === null) return null;
  const ms = Math.max(hourMs, Date.parse(ends) - Date.parse(created));
  const choice = longExpiries.find(({ seconds }) => Math.abs(seconds * 1000 - ms) < roundingMs);
  return choice ? { seconds: choice.seconds } : { at: new Date(serverNow() + ms).toISOString() };
}

/** A team's tokens have unique descriptions, so the new one has its date. */
function successorOf(description: string | null, holder: RotateProps["holder"]["kind"]): string | null {
  if (!description || holder !== "teams") return description;
  const now = new Date().toISOString().slice(0, 16).replace("T", " ");
  return `${description.replace(/ \(since [\d: -]+\)$/, "")} (since ${now})`;
}

const operations = {
  users: "POST /users/{user_id}/authentication-tokens",
  teams: "POST /teams/{team_id}/authentication-tokens",
  organizations: "POST /organizations/{organization_name}/authentication-token",
} as const;

export function Rotate({ token, holder }: RotateProps) {
  const [opened, { open, close }] = useDisclosure();
  const name = token.attributes.description || token.id;
  return (
    <>
      <Button variant="subtle" size="compact-xs" onClick={open} aria-label={`Rotate ${name}`}>
        Rotate
      </Button>
      <FormDialog opened={opened} onClose={close} title={`Rotate ${name}`}>
        <Rotation token={token} holder={holder} onClose={close} />
      </FormDialog>
    </>
  );
}

function Rotation({ token, holder, onClose }: RotateProps & { readonly onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const isReplaced = holder.kind === "organizations";
  // All of these operations return the token with its secret.
  const make = useAction(operations[holder.kind] as (typeof operations)["users"], {
    done: "Created the new token.",
    refusal: "form",
    after: ({ data }) => setSecret(data.attributes.token ?? undefined),
  });
  const revoke = useAction("DELETE /authentication-tokens/{token_id}", {
    done: "Revoked the old token.",
    after: onClose,
  });
  const path = { user_id: holder.id, team_id: holder.id, organization_name: holder.id };
  const draft = useDraft({ "expired-at": lifetimeOf(token) });
  if (secret === undefined)
    return (
      <ActionForm
        draft={draft}
        action={make}
        verb="Create new token"
        isReady={expiryFault(draft.getValues()["expired-at"]) === undefined}
        onCancel={onClose}
        input={({ "expired-at": expiry }) => ({
          path,
          ...("query" in holder && { query: holder.query }),
          body: {
            data: {
              type: "authentication-tokens",
              attributes: {
                description: successorOf(token.attributes.description, holder.kind),
                "expired-at": expiryInstant(expiry),
              },
            },
          },
        })}
      >
        <Text>
          Creates a new token with the same access.{" "}
          {isReplaced
            ? "An organization has one token: the old one stops working immediately."
            : "The old token keeps working until you revoke it."}
        </Text>
        <ExpiryInput choices={longExpiries} never="The token has no expiry." {...draft.getInputProps("expired-at")} />
      </ActionForm>
    );
  return (
    <Stack>
      <SecretOnce title="New token" label="New token" secret={secret} {...(isReplaced && { onDone: onClose })} />
      {!isReplaced && (
        <>
          <Text>Replace the old token wherever it is used. Then revoke it, now or from the list.</Text>
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Later
            </Button>
            <Button
              color="red"
              loading={revoke.isPending}
              onClick={() => revoke.mutate({ path: { token_id: token.id } })}
            >
              Revoke old token
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
