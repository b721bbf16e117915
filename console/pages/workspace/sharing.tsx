/** State sharing and run triggers of a workspace. */
import { Radio, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { pagedQuery, completeListQuery } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { FlowGraph } from "../../ui/flow-graph.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { Pager } from "../../ui/table.tsx";
import type { WorkspaceDetails } from "./details.ts";
import { useRelatedWorkspaces } from "./related.tsx";
import { LinkedWorkspaces } from "./linked.tsx";

export function Sharing({ details }: { readonly details: WorkspaceDetails }) {
  const { workspace, etag } = details;
  const { name, "global-remote-state": isGlobal, "project-remote-state": isOfProject } = workspace.attributes;
  const canChange = workspace.attributes.permissions["can-update"] === true;
  const { before, after } = useRelatedWorkspaces(details);
  const action = useAction("PATCH /workspaces/{workspace_id}", { done: `Changed the state sharing of ${name}.` });
  const value = isGlobal ? "global" : isOfProject ? "project" : "some";
  const change = (to: string) =>
    action.mutate({
      path: { workspace_id: workspace.id },
      ifMatch: etag,
      body: {
        data: {
          type: "workspaces",
          attributes: { "global-remote-state": to === "global", "project-remote-state": to === "project" },
        },
      },
    });
  return (
    <>
      <Section
        title="State sharing"
        about="Runs of these workspaces can read this state with terraform_remote_state or tfe_outputs. A state can contain secrets in plain text: share it with as few workspaces as you can."
      >
        <Radio.Group value={value} onChange={change} aria-label="State sharing">
          <Stack gap={6}>
            <Radio value="some" disabled={!canChange} label="Selected workspaces" />
            <Radio value="project" disabled={!canChange} label="All workspaces in the project" />
            <Radio value="global" disabled={!canChange} label="All workspaces in the organization" />
          </Stack>
        </Radio.Group>
        {after.length > 0 && <FlowGraph label="State sharing" middle={name} before={before} after={after} />}
      </Section>
      {value === "some" && <Consumers details={details} canChange={canChange} />}
    </>
  );
}

interface ConsumersProps {
  readonly details: WorkspaceDetails;
  readonly canChange: boolean;
}

function Consumers({ details: { organization, workspace }, canChange }: ConsumersProps) {
  const { search, set } = useAddress();
  const path = { workspace_id: workspace.id };
  const query = useQuery(
    pagedQuery("GET /workspaces/{workspace_id}/relationships/remote-state-consumers", {
      path,
      query: { "page[size]": 30, "page[number]": search["page"] },
    }),
  );
  const add = useAction("POST /workspaces/{workspace_id}/relationships/remote-state-consumers", {
    done: "The workspace can now read this state.",
  });
  const remove = useAction("DELETE /workspaces/{workspace_id}/relationships/remote-state-consumers", {
    done: "The workspace can no longer read this state.",
  });
  const bodyOf = (id: string) => ({ path, body: { data: [{ type: "workspaces" as const, id }] } });
  return (
    <Section title="Selected workspaces">
      <QueryContent query={query}>
        {({ data, meta }) => (
          <>
            <LinkedWorkspaces
              label="Selected workspaces"
              organization={organization}
              rows={data.map(({ id, attributes: { name } }) => ({ key: id, name }))}
              change={
                canChange
                  ? {
                      without: [workspace.id, ...data.map(({ id }) => id)],
                      verb: "Add workspace",
                      isBusy: add.isPending,
                      onAdd: (id) => add.mutate(bodyOf(id)),
                      onRemove: (id) => remove.mutate(bodyOf(id)),
                    }
                  : undefined
              }
            />
            <Pager pagination={meta?.pagination} one="workspace" onPage={(page) => set({ page: String(page) })} />
          </>
        )}
      </QueryContent>
    </Section>
  );
}

const triggersOf = (workspaceId: string, type: "inbound" | "outbound") =>
  completeListQuery("GET /workspaces/{workspace_id}/run-triggers", {
    path: { workspace_id: workspaceId },
    query: { "filter[run-trigger][type]": type },
  });

export function Triggers({ details }: { readonly details: WorkspaceDetails }) {
  return (
    <>
      <Inbound details={details} />
      <Outbound details={details} />
    </>
  );
}

function Inbound({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const canChange = workspace.attributes.permissions["can-update"] === true;
  const query = useQuery(triggersOf(workspace.id, "inbound"));
  const add = useAction("POST /workspaces/{workspace_id}/run-triggers", {
    done: ({ data }) => `Applies in ${data.attributes["sourceable-name"]} now start runs here.`,
  });
  const remove = useAction("DELETE /run-triggers/{run_trigger_id}", { done: "Removed the run trigger." });
  const start = (id: string) =>
    add.mutate({
      path: { workspace_id: workspace.id },
      body: { data: { type: "run-triggers", relationships: { sourceable: { data: { type: "workspaces", id } } } } },
    });
  return (
    <Section
      title="Source workspaces"
      about="Each apply in one of these workspaces starts a run here, with this workspace's configuration."
    >
      <QueryContent query={query} loading={<LoadingRows rows={2} />}>
        {({ data }) => (
          <LinkedWorkspaces
            label="Source workspaces"
            organization={organization}
            rows={data.map(({ id, attributes }) => ({ key: id, name: attributes["sourceable-name"] }))}
            change={
              canChange
                ? {
                    without: [
                      workspace.id,
                      ...data.flatMap(({ relationships }) => relationships.sourceable?.data?.id ?? []),
                    ],
                    verb: "Add workspace",
                    isBusy: add.isPending,
                    onAdd: start,
                    onRemove: (id) => remove.mutate({ path: { run_trigger_id: id } }),
                  }
                : undefined
            }
          />
        )}
      </QueryContent>
    </Section>
  );
}

function Outbound({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const query = useQuery(triggersOf(workspace.id, "outbound"));
  const found = query.data?.data ?? [];
  if (found.length === 0) return null;
  return (
    <Section
      title="Triggered workspaces"
      about="Applies here start runs in these workspaces. You change this in their settings."
    >
      <LinkedWorkspaces
        label="Triggered workspaces"
        organization={organization}
        rows={found.map(({ id, attributes }) => ({ key: id, name: attributes["workspace-name"] }))}
      />
    </Section>
  );
}
