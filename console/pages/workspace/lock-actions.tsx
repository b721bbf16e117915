/** Locks a workspace with a reason and an expiry, renews the lock, unlocks it, or force-unlocks another's. */
import { Button, Text, Textarea } from "@mantine/core";
import { IconLock, IconLockOpen } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { account, workspaceNamed } from "../../api/queries.ts";
import { useClearedDialog, useOpened } from "../../ui/address.ts";
import { DangerDialog, FormDialog } from "../../ui/dialog.tsx";
import { type Expiry, expiryFault } from "../../ui/expiry.ts";
import { ExpiryInput } from "../../ui/expiry-input.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { When } from "../../ui/text.tsx";
import { holderOf } from "../workspaces/lock.tsx";
import type { WorkspaceDetails } from "./details.ts";

export function useHoldsLock(workspace: WorkspaceDetails["workspace"]): boolean {
  const me = useQuery(account());
  const holder = workspace.relationships["locked-by"]?.data;
  return holder != null && holder.type === "users" && holder.id === me.data?.data.id;
}

export function LockActions({ details }: { readonly details: WorkspaceDetails }) {
  const { locked, name, permissions: may } = details.workspace.attributes;
  const isMine = useHoldsLock(details.workspace);
  const isOfRun = details.workspace.relationships["locked-by"]?.data?.type === "runs";
  const canLock = !locked && may["can-lock"];
  const canForce = locked && !isMine && !isOfRun && may["can-force-unlock"];
  // During a refetch, the shown lock may be outdated.
  const { isFetching } = useQuery(workspaceNamed(details.organization, name));
  useClearedDialog("lock", !canLock && !isFetching);
  useClearedDialog("force-unlock", !canForce && !isFetching);
  if (canLock) return <Lock details={details} />;
  if (locked && isMine) return <OwnLockActions details={details} />;
  return canForce ? <ForceUnlock details={details} /> : null;
}

/** The server's clock counts durations. */
const leaseOf = (expiry: Expiry) => {
  if (expiry === null) return {};
  return "at" in expiry ? { "expires-at": expiry.at } : { "lease-seconds": expiry.seconds };
};

function Lock({ details: { workspace } }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useOpened("lock");
  return (
    <>
      <Button variant="default" leftSection={<IconLock size={14} />} onClick={open}>
        Lock
      </Button>
      <FormDialog opened={opened} onClose={close} title={`Lock ${workspace.attributes.name}`}>
        <LockForm workspace={workspace} onClose={close} />
      </FormDialog>
    </>
  );
}

function LockForm({ workspace, onClose }: Pick<WorkspaceDetails, "workspace"> & { readonly onClose: () => void }) {
  const draft = useDraft({ reason: "", "expires-at": null as Expiry });
  return (
    <OperationForm
      draft={draft}
      operation="POST /workspaces/{workspace_id}/actions/lock"
      done={`Locked ${workspace.attributes.name}.`}
      after={onClose}
      input={(values) => ({
        path: { workspace_id: workspace.id },
        body: { data: { attributes: { reason: values.reason, ...leaseOf(values["expires-at"]) } } },
      })}
      verb="Lock"
      isReady={expiryFault(draft.getValues()["expires-at"]) === undefined}
      onCancel={onClose}
    >
      <Text c="dimmed" fz="sm">
        While the workspace is locked, nobody else can write its state, and runs wait.
      </Text>
      <Textarea
        label="Reason"
        description="Shown to people who find the workspace locked."
        autosize
        minRows={2}
        data-autofocus
        {...draft.getInputProps("reason")}
      />
      <ExpiryInput never="The workspace stays locked until you unlock it." {...draft.getInputProps("expires-at")} />
    </OperationForm>
  );
}

function OwnLockActions({ details: { workspace } }: { readonly details: WorkspaceDetails }) {
  const { name, "lock-expires-at": ends } = workspace.attributes;
  const input = { path: { workspace_id: workspace.id } };
  const renew = useAction("POST /workspaces/{workspace_id}/actions/renew-lock", {
    done: `Renewed the lock of ${name}.`,
  });
  const unlock = useAction("POST /workspaces/{workspace_id}/actions/unlock", { done: `Unlocked ${name}.` });
  return (
    <>
      {ends && (
        <Button variant="default" loading={renew.isPending} onClick={() => renew.mutate({ ...input, body: {} })}>
          Renew lock
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconLockOpen size={14} />}
        loading={unlock.isPending}
        onClick={() => unlock.mutate(input)}
      >
        Unlock
      </Button>
    </>
  );
}

function ForceUnlock({ details: { workspace, included } }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useOpened("force-unlock");
  const { name, "locked-at": since, "locked-reason": reason } = workspace.attributes;
  const action = useAction("POST /workspaces/{workspace_id}/actions/force-unlock", {
    done: `Force-unlocked ${name}.`,
    after: close,
  });
  return (
    <>
      <Button variant="default" color="red" leftSection={<IconLockOpen size={14} />} onClick={open}>
        Force-unlock
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Force-unlock ${name}?`}
        verb="Force-unlock"
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } })}
      >
        {holderOf({ workspace, included })} locked this{since && " "}
        {since && <When time={since} />}
        {reason && `: “${reason}”`}. Their unfinished work is abandoned and any state still being uploaded is rejected.
        Ask them first if you can.
      </DangerDialog>
    </>
  );
}
