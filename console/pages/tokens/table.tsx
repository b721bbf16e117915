/** A table of tokens with actions: description, last use and expiry; those that need attention first. */
import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Expires, Identifier, When } from "../../ui/text.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { useNow } from "../../now.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import type { Resource } from "../../api/client.ts";

export interface TokensTableProps {
  readonly label: string;
  readonly tokens: readonly Token[];
  readonly holder?: (token: Token) => ReactNode;
  readonly organization?: string;
  /** Tokens of agent pools and for the audit log have no reach. */
  readonly reachable?: (token: Token) => boolean;
  readonly more?: (token: Token) => ReactNode;
}

export function TokensTable({ label, tokens, holder, organization, reachable, more }: TokensTableProps) {
  const now = useNow();
  const columns: TableColumn<Token>[] = [
    ...(holder ? [{ title: "Belongs to", cell: holder }] : []),
    {
      title: "Description",
      cell: (token) => token.attributes.description || <Identifier value={token.id} />,
    },
    {
      title: "Last used",
      cell: (token) => (
        <Group gap={6}>
          <When time={token.attributes["last-used-at"]} none="never" />
          {attentionOf(token, now) === "unused" && (
            <Badge color="yellow" style={{ flexShrink: 0 }}>
              unused
            </Badge>
          )}
        </Group>
      ),
    },
    {
      title: "Expires",
      cell: (token) => (
        <Group gap={6}>
          <Expires time={token.attributes["expired-at"]} />
          {attentionOf(token, now) === "expiring" && (
            <Badge color="orange" style={{ flexShrink: 0 }}>
              soon
            </Badge>
          )}
        </Group>
      ),
    },
    { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
    {
      title: "Actions",
      width: 1,
      cell: (token) => (
        <Group gap={4} justify="flex-end" wrap="nowrap">
          {organization && reachable?.(token) !== false && (
            <LinkButton to={paths.tokenReach(organization, token.id)} variant="subtle" color="gray" size="compact-xs">
              Reach
            </LinkButton>
          )}
          {more?.(token)}
          <Revoke token={token} />
        </Group>
      ),
    },
  ];
  return <Table label={label} columns={columns} rows={tokens.toSorted(byAttention(now))} keyOf={({ id }) => id} />;
}

const nameOf = (token: Token) => token.attributes.description || token.id;

function Revoke({ token }: { readonly token: Token }) {
  const revoke = useAction("DELETE /authentication-tokens/{token_id}", { done: `Revoked ${nameOf(token)}.` });
  return (
    <DangerButton
      isQuiet
      verb="Revoke"
      label={`Revoke ${nameOf(token)}`}
      title={`Revoke ${nameOf(token)}?`}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate({ path: { token_id: token.id } })}
    >
      Everything that uses this token stops working immediately. You can't undo this.
    </DangerButton>
  );
}

export type Token = Resource<"authentication-tokens">;

const dayMs = 86_400_000;
export const soonDays = 14;
export const unusedDays = 90;

export type TokenAttention = "expired" | "expiring" | "unused" | "none";

export function attentionOf({ attributes }: Token, now: number): TokenAttention {
  const { "expired-at": ends } = attributes;
  if (ends !== null && Date.parse(ends) <= now) return "expired";
  if (ends !== null && Date.parse(ends) - now < soonDays * dayMs) return "expiring";
  return isUnused({ attributes }, now) ? "unused" : "none";
}

const isUnused = ({ attributes }: Pick<Token, "attributes">, now: number): boolean =>
  now - Date.parse(attributes["last-used-at"] ?? attributes["created-at"]) > unusedDays * dayMs;

export function countTokens(tokens: readonly Token[], now: number) {
  const working = tokens.filter((token) => attentionOf(token, now) !== "expired");
  return {
    expiring: working.filter((token) => attentionOf(token, now) === "expiring").length,
    neverUsed: working.filter(({ attributes }) => attributes["last-used-at"] === null).length,
    unused: working.filter((token) => token.attributes["last-used-at"] !== null && isUnused(token, now)).length,
  };
}

const order: readonly TokenAttention[] = ["expiring", "unused", "expired", "none"];

export function byAttention(now: number): (one: Token, other: Token) => number {
  const endOf = ({ attributes }: Token) => attributes["expired-at"] ?? "9999";
  return (one, other) =>
    order.indexOf(attentionOf(one, now)) - order.indexOf(attentionOf(other, now)) ||
    endOf(one).localeCompare(endOf(other)) ||
    one.id.localeCompare(other.id);
}
