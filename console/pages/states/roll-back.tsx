/** Going back to an earlier state: its content becomes a new version, under the workspace's lock, which is taken for that moment. */
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { tell, tellRefusal } from "../../api/actions.ts";
import { call, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { useGo } from "../../ui/link.tsx";
import type { Place } from "../workspace/place.ts";
import { useHoldsLock } from "../workspace/lock-actions.tsx";

interface RollBackProps {
  readonly place: Place;
  readonly state: Resource<"state-versions">;
}

export function RollBack({ place, state }: RollBackProps) {
  const [opened, { open, close }] = useDisclosure();
  const { organization, workspace } = place;
  const { name, locked, permissions: may } = workspace.attributes;
  const { serial, status } = state.attributes;
  const isMine = useHoldsLock(workspace);
  const go = useGo();
  const client = useQueryClient();
  const action = useMutation({
    mutationFn: () => rollBack(workspace.id, state.id, isMine),
    onSuccess: async (made) => {
      close();
      tell(`${name} is back at what serial ${serial} was, as serial ${made.attributes.serial}.`);
      await client.invalidateQueries();
      go(paths.state(organization, name, made.id));
    },
    onError: async (error) => {
      tellRefusal(error);
      await client.invalidateQueries();
    },
  });
  const isCurrent = state.id === workspace.relationships["current-state-version"]?.data?.id;
  if (isCurrent || status !== "finalized" || !may["can-create-state-versions"] || !may["can-lock"]) return null;
  return (
    <>
      <Button variant="default" leftSection={<IconHistory size={14} />} onClick={open}>
        Go back to this state
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Go back to serial ${serial} of ${name}`}
        verb="Go back"
        isBusy={action.isPending}
        onConfirm={() => action.mutate()}
      >
        What this state says becomes the workspace's state, as a new version; none is lost. Only the state changes: what
        was really made or destroyed since then is as it is, and the next plan will want to change it.{" "}
        {isMine
          ? "You hold the workspace's lock, and the new state becomes the current one when you unlock it."
          : locked
            ? "The workspace is locked by somebody else, so this will be refused."
            : "The workspace is locked while that is done."}
      </DangerDialog>
    </>
  );
}

async function rollBack(workspaceId: string, stateId: string, isMine: boolean): Promise<Resource<"state-versions">> {
  const path = { workspace_id: workspaceId };
  if (!isMine)
    await call("POST /workspaces/{workspace_id}/actions/lock", {
      path,
      body: { reason: "Going back to an earlier state" },
    });
  try {
    const { data } = await call("PATCH /workspaces/{workspace_id}/state-versions", {
      path,
      body: {
        data: {
          type: "state-versions",
          relationships: { "rollback-state-version": { data: { type: "state-versions", id: stateId } } },
        },
      },
    });
    return data;
  } finally {
    if (!isMine) await call("POST /workspaces/{workspace_id}/actions/unlock", { path });
  }
}
