/** Run triggers: workspaces whose applies start runs here, and workspaces in which applies of this one start runs. */
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { askingWhole } from "../../api/queries.ts";
import { Section } from "../../ui/page.tsx";
import { Asked, LoadingRows } from "../../components/states.tsx";
import type { Place } from "./place.ts";
import { LinkedWorkspaces } from "./linked.tsx";

const triggersOf = (workspaceId: string, type: "inbound" | "outbound") =>
  askingWhole("GET /workspaces/{workspace_id}/run-triggers", {
    path: { workspace_id: workspaceId },
    query: { "filter[run-trigger][type]": type },
  });

export function Triggers({ place }: { readonly place: Place }) {
  return (
    <>
      <Inbound place={place} />
      <Outbound place={place} />
    </>
  );
}

function Inbound({ place: { organization, workspace } }: { readonly place: Place }) {
  const mayChange = workspace.attributes.permissions["can-update"] === true;
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
      <Asked query={query} loading={<LoadingRows rows={2} />}>
        {({ data }) => (
          <LinkedWorkspaces
            label="Source workspaces"
            organization={organization}
            rows={data.map(({ id, attributes }) => ({ key: id, name: attributes["sourceable-name"] }))}
            change={
              mayChange
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
      </Asked>
    </Section>
  );
}

function Outbound({ place: { organization, workspace } }: { readonly place: Place }) {
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
