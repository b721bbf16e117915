/** Run triggers: whose applies start runs here, and where applies of this one start runs. */
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { askingWhole } from "../../api/whole.ts";
import { Section } from "../../ui/page.tsx";
import { Asked, LoadingRows } from "../../ui/states.tsx";
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
    done: ({ data }) => `Applies of ${data.attributes["sourceable-name"]} start runs here now.`,
  });
  const remove = useAction("DELETE /run-triggers/{run_trigger_id}", { done: "They start no runs here any more." });
  const start = (id: string) =>
    add.mutate({
      path: { workspace_id: workspace.id },
      body: { data: { type: "run-triggers", relationships: { sourceable: { data: { type: "workspaces", id } } } } },
    });
  return (
    <Section
      title="Runs start here after applies of"
      about="Each apply of one of these workspaces starts a run here, with the configuration that is here."
    >
      <Asked query={query} loading={<LoadingRows rows={2} />}>
        {({ data }) => (
          <LinkedWorkspaces
            label="Workspaces whose applies start runs here"
            organization={organization}
            rows={data.map(({ id, attributes }) => ({ key: id, name: attributes["sourceable-name"] }))}
            change={
              mayChange
                ? {
                    without: [
                      workspace.id,
                      ...data.flatMap(({ relationships }) => relationships.sourceable?.data?.id ?? []),
                    ],
                    verb: "Let it start runs",
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
    <Section title="Its applies start runs in" about="Set there, not here.">
      <LinkedWorkspaces
        label="Workspaces in which its applies start runs"
        organization={organization}
        rows={found.map(({ id, attributes }) => ({ key: id, name: attributes["workspace-name"] }))}
      />
    </Section>
  );
}
