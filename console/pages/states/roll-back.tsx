/** Rolls back to an earlier state version by saving its contents as a new version, while the workspace is locked. */
import { Anchor, Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconHistory } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { showMessage, showError } from "../../api/actions.ts";
import { call, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { useGo } from "../../ui/link.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { FirstChanges } from "./changes.tsx";
import { currentOf } from "./compare.tsx";
import { useHoldsLock } from "../workspace/lock-actions.tsx";

interface RollBackProps {
  readonly details: WorkspaceDetails;
  readonly state: Resource<"state-versions">;
}

export function RollBack({ details, state }: RollBackProps) {
  const [opened, { open, close }] = useDisclosure();
  const { organization, workspace } = details;
  const { name, locked, permissions: may } = workspace.attributes;
  const { serial, status } = state.attributes;
  const isMine = useHoldsLock(workspace);
  const go = useGo();
  const { set } = useAddress();
  const client = useQueryClient();
  const action = useMutation({
    mutationFn: () => rollBack(workspace.id, state.id, isMine),
    onSuccess: async (created) => {
      close();
      showMessage(`Rolled back ${name} to serial ${serial}. The new version is serial ${created.attributes.serial}.`);
      await client.invalidateQueries();
      go(paths.state(organization, name, created.id));
    },
    onError: async (error) => {
      showError(error);
      await client.invalidateQueries();
    },
  });
  const current = currentOf(details);
  const showAll = () => {
    close();
    set({ since: "current", change: undefined, page: undefined });
  };
  if (state.id === current || status !== "finalized" || !may["can-create-state-versions"] || !may["can-lock"])
    return null;
  return (
    <>
      <Button variant="default" leftSection={<IconHistory size={14} />} onClick={open}>
        Roll back to this version
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Roll back ${name} to serial ${serial}?`}
        verb="Roll back"
        size="xl"
        isBusy={action.isPending}
        onConfirm={() => action.mutate()}
      >
        <Stack gap="sm">
          <Text>
            Creates a new state version with the contents of serial {serial}. Real infrastructure is not changed; the
            next plan will show the difference.
          </Text>
          <Text>
            {isMine
              ? "You hold the lock. The new version becomes the current one when you unlock the workspace."
              : locked
                ? "The workspace is locked by someone else, so the server will reject this."
                : "The workspace is locked while this runs."}
          </Text>
          <Text fw={600}>Changes to the current state</Text>
          <FirstChanges
            stateId={state.id}
            since={current}
            more={
              <Anchor component="button" type="button" inherit onClick={showAll}>
                Show all changes
              </Anchor>
            }
          />
        </Stack>
      </DangerDialog>
    </>
  );
}

async function rollBack(workspaceId: string, stateId: string, isMine: boolean): Promise<Resource<"state-versions">> {
  const path = { workspace_id: workspaceId };
  if (!isMine)
    await call("POST /workspaces/{workspace_id}/actions/lock", {
      path,
      body: { reason: "Rolling back to an earlier state version" },
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
