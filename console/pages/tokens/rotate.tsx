/** A token's successor: made like it, shown once; the old one goes when the new one is in its place. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { SecretOnce } from "../../ui/secret.tsx";
import type { Token } from "./words.ts";

export interface RotateProps {
  readonly token: Token;
  readonly holder:
    | { readonly kind: "users" | "teams"; readonly id: string }
    /** Its new one takes the old one's place at once. */
    | { readonly kind: "organizations"; readonly id: string; readonly query?: Record<string, string> };
}

const dayMs = 86_400_000;

/** As long again as it was meant to work. */
function endOf({ attributes }: Token): string | null {
  const { "created-at": made, "expired-at": ends } = attributes;
  if (ends === null) return null;
  return new Date(Date.now() + Math.max(dayMs, Date.parse(ends) - Date.parse(made))).toISOString();
}

/** Of a team's tokens no two are called the same, so the new one says since when it is. */
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
  // All of these answer the token, with its secret this once.
  const make = useAction(operations[holder.kind] as (typeof operations)["users"], {
    done: "Made the new token.",
    after: ({ data }) => setSecret(data.attributes.token ?? undefined),
  });
  const revoke = useAction("DELETE /authentication-tokens/{token_id}", {
    done: "Revoked the old token.",
    after: onClose,
  });
  const path = { user_id: holder.id, team_id: holder.id, organization_name: holder.id };
  const begin = () =>
    make.mutate({
      path,
      ...("query" in holder && { query: holder.query }),
      body: {
        data: {
          type: "authentication-tokens",
          attributes: {
            description: successorOf(token.attributes.description, holder.kind),
            "expired-at": endOf(token),
          },
        },
      },
    });
  if (secret === undefined)
    return (
      <Stack>
        <Text>
          A new token is made for the same use and as long a time.{" "}
          {isReplaced
            ? "An organization has one: the old token stops working at once."
            : "The old one goes on until you revoke it, so nothing stops in between."}
        </Text>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={begin} loading={make.isPending} data-autofocus>
            Make the new token
          </Button>
        </Group>
      </Stack>
    );
  return (
    <Stack>
      <SecretOnce title="The new token" label="The new token" secret={secret} />
      {isReplaced ? (
        <Button onClick={onClose} ml="auto" display="block">
          I have copied it
        </Button>
      ) : (
        <>
          <Text>Put it where the old one is used. Then revoke the old one, now or from the list.</Text>
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Later
            </Button>
            <Button
              color="red"
              loading={revoke.isPending}
              onClick={() => revoke.mutate({ path: { token_id: token.id } })}
            >
              Revoke the old one
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
