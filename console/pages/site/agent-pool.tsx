/** An agent pool of the site: its agents, tokens, name and deletion. */
import { TextInput, Title } from "@mantine/core";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { OperationResponse } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useDraft } from "../../components/forms.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { QueryContent } from "../../components/states.tsx";
import { liveMs, PoolAgents, PoolTokens } from "../agent-pools/agents.tsx";
import { CreateToken } from "../tokens/create-token.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteAgentTokens, siteAgents, siteAgentPool } from "../../api/detail-queries.ts";

const pathOf = (id: string) => ({ site_agent_pool_id: id });
type SitePoolResponse = OperationResponse<"GET /admin/agent-pools/{site_agent_pool_id}">;

export default function SiteAgentPoolPage() {
  const { pool: id } = useParams({ from: "/inside/~/site/agent-pools/$pool" });
  const query = useQuery(siteAgentPool(id));
  return (
    <SiteFrame part={query.data?.data.attributes.name}>
      <Pool key={id} id={id} query={query} />
    </SiteFrame>
  );
}

function Pool({ id, query }: { readonly id: string; readonly query: UseQueryResult<SitePoolResponse> }) {
  return (
    <QueryContent query={query}>
      {(response) => (
        <>
          <Title order={2} mb="md">
            {response.data.attributes.name}
          </Title>
          <Agents id={id} />
          <Tokens id={id} name={response.data.attributes.name} />
          <Settings response={response} />
        </>
      )}
    </QueryContent>
  );
}

function Agents({ id }: { readonly id: string }) {
  const query = useQuery({
    ...siteAgents(id),
    refetchInterval: liveMs,
  });
  return <PoolAgents query={query} canUpdate />;
}

function Tokens({ id, name }: { readonly id: string; readonly name: string }) {
  const query = useQuery(siteAgentTokens(id));
  return (
    <PoolTokens query={query}>
      <CreateToken
        operation="POST /admin/agent-pools/{site_agent_pool_id}/authentication-tokens"
        path={pathOf(id)}
        verb="Create token"
        holder={`agents of ${name}`}
        isEndless
      />
    </PoolTokens>
  );
}

function Settings({ response: { data: pool, etag } }: { readonly response: SitePoolResponse }) {
  const path = pathOf(pool.id);
  const draft = useDraft({ name: pool.attributes.name });
  return (
    <>
      <SettingsForm
        draft={draft}
        operation="PATCH /admin/agent-pools/{site_agent_pool_id}"
        query={siteAgentPool(pool.id)}
        etag={etag}
        done="Saved the agent pool."
        input={(ifMatch) => ({ path, ifMatch, body: { data: { type: "agent-pools", attributes: draft.getValues() } } })}
      >
        <TextInput label="Name" {...draft.getInputProps("name")} />
      </SettingsForm>
      <DeleteSection
        one="agent pool"
        name={pool.attributes.name}
        operation="DELETE /admin/agent-pools/{site_agent_pool_id}"
        input={{ path }}
        to={paths.siteAgentPools()}
      >
        This revokes all tokens of the pool, its agents can no longer connect, and runs on them are lost. You can't undo
        this.
      </DeleteSection>
    </>
  );
}
