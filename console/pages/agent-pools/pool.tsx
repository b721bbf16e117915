/** A pool: its agents as they are now, its tokens, whom it serves, and how to start an agent. */
import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askingWhole, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useDraft, End, SettingsForm } from "../../components/forms.tsx";
import { Page } from "../../ui/page.tsx";
import { Asked } from "../../components/states.tsx";
import { MakeToken } from "../tokens/make-token.tsx";
import { liveMs, PoolAgents, PoolTokens } from "./agents.tsx";
import { type PoolAnswer, Serves } from "./serves.tsx";
import { agents, agentPool } from "../../api/detail-queries.ts";

export default function AgentPoolPage() {
  const { organization, pool: id } = useParams({ from: "/inside/$organization/agent-pools/$pool" });
  const query = useQuery(agentPool(id));
  const rights = useRights(organization);
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
            {mayUpdate && <Tokens pool={answer.data} />}
            <Serves organization={organization} answer={answer} mayUpdate={mayUpdate} />
            {mayUpdate && <Settings key={id} organization={organization} answer={answer} />}
          </>
        )}
      </Asked>
    </Page>
  );
}

function Agents({ poolId, mayUpdate }: { readonly poolId: string; readonly mayUpdate: boolean }) {
  const query = useQuery({
    ...agents(poolId),
    refetchInterval: liveMs,
  });
  return <PoolAgents query={query} mayUpdate={mayUpdate} />;
}

function Tokens({ pool }: { readonly pool: PoolAnswer["data"] }) {
  const query = useQuery(
    askingWhole("GET /agent-pools/{agent_pool_id}/authentication-tokens", { path: { agent_pool_id: pool.id } }),
  );
  return (
    <PoolTokens query={query}>
      <MakeToken
        operation="POST /agent-pools/{agent_pool_id}/authentication-tokens"
        path={{ agent_pool_id: pool.id }}
        verb="Create token"
        holder={`agents of ${pool.attributes.name}`}
        isEndless
      />
    </PoolTokens>
  );
}

function Settings({ organization, answer: { data: pool, etag } }: { organization: string; answer: PoolAnswer }) {
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
      <End
        one="agent pool"
        name={name}
        operation="DELETE /agent-pools/{agent_pool_id}"
        input={{ path }}
        to={paths.agentPools(organization)}
      >
        This revokes all tokens of the pool, and its agents can no longer connect. You can't undo this.
      </End>
    </>
  );
}
