/** An agent pool: its agents, tokens and scope, and how to start an agent. */
import { TextInput, Radio, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { completeListQuery, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useDraft } from "../../components/forms.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { CreateToken } from "../tokens/create-token.tsx";
import { liveMs, PoolAgents, PoolTokens } from "./agents.tsx";
import { agents, agentPool } from "../../api/detail-queries.ts";
import { useAction } from "../../api/actions.ts";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { SelectedItems } from "../../components/pickers.tsx";

export default function AgentPoolPage() {
  const { organization, pool: id } = useParams({ from: "/inside/$organization/agent-pools/$pool" });
  const query = useQuery(agentPool(id));
  const rights = useRights(organization);
  const canUpdate = rights?.["can-update-agent-pools"] === true;
  return (
    <Page
      title={query.data?.data.attributes.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Agent pools", to: paths.agentPools(organization) },
      ]}
    >
      <QueryContent query={query}>
        {(response) => (
          <>
            <Agents poolId={id} canUpdate={canUpdate} />
            {canUpdate && <Tokens pool={response.data} />}
            <PoolScope organization={organization} response={response} canUpdate={canUpdate} />
            {canUpdate && <Settings key={id} organization={organization} response={response} />}
          </>
        )}
      </QueryContent>
    </Page>
  );
}

function Agents({ poolId, canUpdate }: { readonly poolId: string; readonly canUpdate: boolean }) {
  const query = useQuery({
    ...agents(poolId),
    refetchInterval: liveMs,
  });
  return <PoolAgents query={query} canUpdate={canUpdate} />;
}

function Tokens({ pool }: { readonly pool: PoolResponse["data"] }) {
  const query = useQuery(
    completeListQuery("GET /agent-pools/{agent_pool_id}/authentication-tokens", { path: { agent_pool_id: pool.id } }),
  );
  return (
    <PoolTokens query={query}>
      <CreateToken
        operation="POST /agent-pools/{agent_pool_id}/authentication-tokens"
        path={{ agent_pool_id: pool.id }}
        verb="Create token"
        holder={`agents of ${pool.attributes.name}`}
        isEndless
      />
    </PoolTokens>
  );
}

function Settings({ organization, response: { data: pool, etag } }: { organization: string; response: PoolResponse }) {
  const { name } = pool.attributes;
  const path = { agent_pool_id: pool.id };
  const draft = useDraft({ name });
  return (
    <>
      <SettingsForm
        draft={draft}
        operation="PATCH /agent-pools/{agent_pool_id}"
        query={agentPool(pool.id)}
        etag={etag}
        done="Saved the agent pool."
        input={(ifMatch) => ({
          path,
          ifMatch,
          body: { data: { type: "agent-pools", attributes: draft.getValues() } },
        })}
      >
        <TextInput label="Name" {...draft.getInputProps("name")} />
      </SettingsForm>
      <DeleteSection
        one="agent pool"
        name={name}
        operation="DELETE /agent-pools/{agent_pool_id}"
        input={{ path }}
        to={paths.agentPools(organization)}
      >
        This revokes all tokens of the pool, and its agents can no longer connect. You can't undo this.
      </DeleteSection>
    </>
  );
}

export type PoolResponse = OperationResponse<"GET /agent-pools/{agent_pool_id}">;

interface PoolScopeProps {
  readonly organization: string;
  readonly response: PoolResponse;
  readonly canUpdate: boolean;
}

const lists = {
  "allowed-projects": { kind: "projects", label: "Allowed projects" },
  "allowed-workspaces": { kind: "workspaces", label: "Allowed workspaces" },
  "excluded-workspaces": { kind: "workspaces", label: "Excluded workspaces" },
} as const;

export function PoolScope({ organization, response, canUpdate }: PoolScopeProps) {
  const { data: pool, etag } = response;
  const isForAll = pool.attributes["organization-scoped"];
  const change = useAction("PATCH /agent-pools/{agent_pool_id}", { done: "Saved the scope." });
  const send = (changes: object) =>
    change.mutate({
      path: { agent_pool_id: pool.id },
      ifMatch: etag,
      body: { data: { type: "agent-pools", ...changes } },
    });
  const shown = isForAll ? (["excluded-workspaces"] as const) : (["allowed-projects", "allowed-workspaces"] as const);
  return (
    <Section title="Scope" about="Only workspaces in scope can use this pool.">
      <Radio.Group
        aria-label="Scope"
        value={isForAll ? "all" : "some"}
        onChange={(value) => send({ attributes: { "organization-scoped": value === "all" } })}
      >
        <Stack gap={6}>
          <Radio value="all" disabled={!canUpdate} label="All workspaces, except the excluded ones" />
          <Radio value="some" disabled={!canUpdate} label="Selected projects and workspaces" />
        </Stack>
      </Radio.Group>
      {shown.map((name) => {
        const { kind, label } = lists[name];
        const ids = (pool.relationships[name]?.data ?? []).map(({ id }) => id);
        const keep = (kept: readonly string[]) =>
          send({ relationships: { [name]: { data: kept.map((id) => ({ type: kind, id })) } } });
        return (
          <Stack key={name} gap={4} mt={4}>
            <Text fz="sm" c="dimmed">
              {label}
            </Text>
            <SelectedItems
              organization={organization}
              kind={kind}
              label={label}
              chosen={ids.map((id) => ({ id, name: includedIn(response, kind, id)?.attributes.name }))}
              change={
                canUpdate
                  ? { onAdd: (id) => keep([...ids, id]), onRemove: (id) => keep(ids.filter((one) => one !== id)) }
                  : undefined
              }
            />
          </Stack>
        );
      })}
    </Section>
  );
}
