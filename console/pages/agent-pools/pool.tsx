/** A pool: its agents as they are now, its tokens, and how to start one. */
import { Badge, Box, Button, Group, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import type { Answer, Resource } from "../../api/client.ts";
import { asking, askingOn, organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Asked, Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";
import { MakeToken } from "../tokens/make-token.tsx";
import { TokensTable } from "../tokens/table.tsx";

type PoolAnswer = Answer<"GET /agent-pools/{agent_pool_id}">;

const liveMs = 5_000;
const poolQuery = (id: string) => asking("GET /agent-pools/{agent_pool_id}", { path: { agent_pool_id: id } });

export default function AgentPoolPage() {
  const { organization, pool: id } = useParams({ strict: false }) as { organization: string; pool: string };
  const query = useQuery(poolQuery(id));
  const rights = useQuery(organizationQuery(organization)).data?.data.attributes.permissions;
  const mayUpdate = rights?.["can-update-agent-pools"] === true;
  return (
    <Page
      title={query.data?.data.attributes.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Agent pools", to: paths.agentPools(organization) },
      ]}
    >
      <Asked query={query}>
        {(answer) => (
          <>
            <Agents poolId={id} mayUpdate={mayUpdate} />
            {mayUpdate && (
              <>
                <Tokens pool={answer.data} />
                <Settings key={id} organization={organization} answer={answer} />
              </>
            )}
          </>
        )}
      </Asked>
    </Page>
  );
}

const colours: Readonly<Record<string, string>> = { idle: "teal", busy: "blue", errored: "red", unknown: "yellow" };

function Agents({ poolId, mayUpdate }: { readonly poolId: string; readonly mayUpdate: boolean }) {
  const query = useQuery({
    ...askingOn("GET /agent-pools/{agent_pool_id}/agents", {
      path: { agent_pool_id: poolId },
      query: { "page[size]": 100 },
    }),
    refetchInterval: liveMs,
  });
  return (
    <Section title="Agents" about="As they said last; the page asks every few seconds.">
      <Asked query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No agent has registered">
              Make a token below, and start one where it can reach this service:{" "}
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
                { title: "Heard of", cell: ({ attributes }) => <When time={attributes["last-ping-at"]} /> },
                { title: "Address", isExtra: true, cell: ({ attributes }) => attributes["ip-address"] },
                { title: "Engines", isExtra: true, cell: ({ attributes }) => enginesOf(attributes.engines) },
                { title: "Version", isExtra: true, cell: ({ attributes }) => attributes.version },
                { title: "Actions", width: 1, cell: (agent) => mayUpdate && <Forget agent={agent} /> },
              ]}
            />
          )
        }
      </Asked>
    </Section>
  );
}

const enginesOf = (engines: { terraform?: readonly string[]; tofu?: readonly string[] } | null | undefined): string =>
  Object.entries(engines ?? {})
    .flatMap(([product, versions]) => (versions ?? []).map((version) => `${product} ${version}`))
    .join(", ");

function Forget({ agent: { id, attributes } }: { readonly agent: Resource<"agents"> }) {
  const forget = useAction("DELETE /agents/{agent_id}", { done: `Forgot the agent ${attributes.name}.` });
  if (attributes.status === "idle" || attributes.status === "busy") return null;
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      loading={forget.isPending}
      aria-label={`Forget ${attributes.name}`}
      onClick={() => forget.mutate({ path: { agent_id: id } })}
    >
      Forget
    </Button>
  );
}

function Tokens({ pool }: { readonly pool: PoolAnswer["data"] }) {
  const tokens = useQuery(
    asking("GET /agent-pools/{agent_pool_id}/authentication-tokens", {
      path: { agent_pool_id: pool.id },
      query: { "page[size]": 100 },
    }),
  );
  return (
    <Section
      title="Tokens"
      about="An agent shows one to register in this pool, and can do nothing else with it."
      actions={
        <MakeToken
          operation="POST /agent-pools/{agent_pool_id}/authentication-tokens"
          path={{ agent_pool_id: pool.id }}
          verb="Make a token"
          holder={`agents of ${pool.attributes.name}`}
          isEndless
        />
      }
    >
      <Asked query={tokens}>
        {({ data }) =>
          data.length === 0 ? <Empty title="No tokens yet" /> : <TokensTable label="Tokens" tokens={data} />
        }
      </Asked>
    </Section>
  );
}

function Settings({ organization, answer: { data: pool, etag } }: { organization: string; answer: PoolAnswer }) {
  const go = useGo();
  const client = useQueryClient();
  const { name } = pool.attributes;
  const draft = useDraft({ name });
  const save = useAction("PATCH /agent-pools/{agent_pool_id}", {
    done: "Saved the agent pool.",
    refusal: "form",
    after: () => draft.resetDirty(),
  });
  const remove = useAction("DELETE /agent-pools/{agent_pool_id}", {
    done: `Deleted the agent pool ${name}.`,
    after: () => go(paths.agentPools(organization), { replace: true }),
  });
  return (
    <Section title="Settings">
      <Box maw="34rem">
        <ActionForm
          draft={draft}
          action={save}
          verb="Save"
          etag={etag}
          reload={async () => (await client.fetchQuery({ ...poolQuery(pool.id), staleTime: 0 })).etag}
          isReady={draft.isDirty()}
          input={(attributes, version) => ({
            path: { agent_pool_id: pool.id },
            ifMatch: version,
            body: { data: { type: "agent-pools", attributes } },
          })}
        >
          <TextInput label="Name" {...draft.getInputProps("name")} />
        </ActionForm>
      </Box>
      <Group mt="md">
        <DangerButton
          verb="Delete this pool"
          title={`Delete the agent pool ${name}?`}
          typed={name}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { agent_pool_id: pool.id } })}
        >
          Its agents are refused from now on, with all of its tokens. That can't be taken back.
        </DangerButton>
      </Group>
    </Section>
  );
}
