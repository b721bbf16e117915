/** Tokens in a table: what each is for, its last use and its end, with what can be done to it. */
import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { useNow } from "../../ui/now.ts";
import { Table, type Column } from "../../ui/table.tsx";
import { Identifier, When } from "../../ui/text.tsx";
import { byConcern, concernOf, type Token } from "./words.ts";

export interface TokensTableProps {
  readonly label: string;
  readonly tokens: readonly Token[];
  /** Whose each is, where that is not plain. */
  readonly holder?: (token: Token) => ReactNode;
  /** Where its reach is shown. */
  readonly organization?: string;
  /** Agents and readers of the trail reach no workspace by themselves. */
  readonly reachable?: (token: Token) => boolean;
  readonly more?: (token: Token) => ReactNode;
}

export function TokensTable({ label, tokens, holder, organization, reachable, more }: TokensTableProps) {
  const now = useNow();
  const columns: Column<Token>[] = [
    ...(holder ? [{ title: "Whose", cell: holder }] : []),
    {
      title: "For",
      cell: (token) => token.attributes.description || <Identifier value={token.id} />,
    },
    {
      title: "Last used",
      cell: (token) => (
        <Group gap={6} wrap="nowrap">
          <When time={token.attributes["last-used-at"]} none="never" />
          {concernOf(token, now) === "unused" && <Badge color="yellow">unused</Badge>}
        </Group>
      ),
    },
    {
      title: "Ends",
      cell: (token) => (
        <Group gap={6} wrap="nowrap">
          <When time={token.attributes["expired-at"]} none="never" />
          {concernOf(token, now) === "expiring" && <Badge color="orange">soon</Badge>}
          {concernOf(token, now) === "expired" && <Badge color="gray">ended</Badge>}
        </Group>
      ),
    },
    { title: "Made", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
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
  return <Table label={label} columns={columns} rows={tokens.toSorted(byConcern(now))} keyOf={({ id }) => id} />;
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
      Whatever uses this token is refused from now on. That can't be taken back: a new token has to be made.
    </DangerButton>
  );
}
