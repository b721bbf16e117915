/** The agents of a pool and their tokens, for pools of an organization and of the site. */
import { Badge, Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { Section } from "../../ui/page.tsx";
import { QueryContent, Empty, LoadingRows } from "../../components/states.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";
import { TokensTable, type Token } from "../tokens/table.tsx";

export const liveMs = 5_000;

const colours: Readonly<Record<string, string>> = { idle: "teal", busy: "blue", errored: "red", unknown: "yellow" };

interface PoolAgentsProps {
  readonly query: UseQueryResult<{ readonly data: readonly Resource<"agents">[] }>;
  readonly canUpdate: boolean;
}

export function PoolAgents({ query, canUpdate }: PoolAgentsProps) {
  return (
    <Section title="Agents" about="Updates live.">
      <QueryContent query={query} loading={<LoadingRows rows={4} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No agents yet">
              Create a token below, then start an agent on a machine that can reach this server:{" "}
              <code>CADASTRE_AGENT_SERVER={location.origin} CADASTRE_AGENT_TOKEN=… cadastre agent</code>
            </Empty>
          ) : (
            <Table
              label="Agents"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ attributes }) => attributes.name },
                {
                  title: "Status",
                  cell: ({ attributes }) => (
                    <Badge color={colours[attributes.status] ?? "gray"}>{attributes.status}</Badge>
                  ),
                },
                { title: "Last seen", cell: ({ attributes }) => <When time={attributes["last-ping-at"]} /> },
                { title: "IP address", isExtra: true, cell: ({ attributes }) => attributes["ip-address"] },
                { title: "Installed versions", isExtra: true, cell: ({ attributes }) => enginesOf(attributes.engines) },
                { title: "Agent version", isExtra: true, cell: ({ attributes }) => attributes.version },
                { title: "Actions", width: 1, cell: (agent) => canUpdate && <RemoveAgent agent={agent} /> },
              ]}
            />
          )
        }
      </QueryContent>
    </Section>
  );
}

const enginesOf = (engines: { terraform?: readonly string[]; tofu?: readonly string[] } | null | undefined): string =>
  Object.entries(engines ?? {})
    .flatMap(([product, versions]) => (versions ?? []).map((version) => `${product} ${version}`))
    .join(", ");

function RemoveAgent({ agent: { id, attributes } }: { readonly agent: Resource<"agents"> }) {
  const remove = useAction("DELETE /agents/{agent_id}", { done: `Removed agent ${attributes.name}.` });
  if (attributes.status === "idle" || attributes.status === "busy") return null;
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      loading={remove.isPending}
      aria-label={`Remove ${attributes.name}`}
      onClick={() => remove.mutate({ path: { agent_id: id } })}
    >
      Remove
    </Button>
  );
}

interface PoolTokensProps {
  readonly query: UseQueryResult<{ readonly data: readonly Token[] }>;
  readonly children: ReactNode;
}

export function PoolTokens({ query, children }: PoolTokensProps) {
  return (
    <Section
      title="Tokens"
      about="Agents register in this pool with a token. It gives no other access."
      actions={children}
    >
      <QueryContent query={query} loading={<LoadingRows rows={2} />}>
        {({ data }) =>
          data.length === 0 ? <Empty title="No tokens yet" /> : <TokensTable label="Tokens" tokens={data} />
        }
      </QueryContent>
    </Section>
  );
}
