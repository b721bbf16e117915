/** Locking a workspace with a reason and for a time, keeping the lock, and letting it go; one's own, or with force somebody's. */
import { Button, Modal, Select, Text, Textarea } from "@mantine/core";
import { IconLock, IconLockOpen } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { account } from "../../api/queries.ts";
import { useOpened } from "../../ui/address.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { holderOf, LockedBy } from "../workspaces/lock.tsx";
import type { Place } from "./place.ts";

export function useHoldsLock(workspace: Place["workspace"]): boolean {
  const me = useQuery(account());
  const holder = workspace.relationships["locked-by"]?.data;
  return holder != null && holder.type === "users" && holder.id === me.data?.data.id;
}

export function LockActions({ place }: { readonly place: Place }) {
  const { locked, permissions: may } = place.workspace.attributes;
  const isMine = useHoldsLock(place.workspace);
  if (!locked) return may["can-lock"] ? <Lock place={place} /> : null;
  if (isMine) return <LetGo place={place} />;
  const isOfRun = place.workspace.relationships["locked-by"]?.data?.type === "runs";
  return may["can-force-unlock"] && !isOfRun ? <ForceUnlock place={place} /> : null;
}

const leases = [
  { value: "", label: "until I unlock it" },
  { value: "900", label: "15 minutes, unless I renew it" },
  { value: "3600", label: "an hour, unless I renew it" },
  { value: "28800", label: "8 hours, unless I renew it" },
  { value: "86400", label: "a day, unless I renew it" },
];

function Lock({ place: { workspace } }: { readonly place: Place }) {
  const [opened, { open, close }] = useOpened("lock");
  const { name } = workspace.attributes;
  const draft = useDraft({ reason: "", "lease-seconds": "" });
  const action = useAction("POST /workspaces/{workspace_id}/actions/lock", {
    done: `Locked ${name}.`,
    after: () => {
      close();
      draft.reset();
    },
    refusal: "form",
  });
  return (
    <>
      <Button variant="default" leftSection={<IconLock size={14} />} onClick={open}>
        Lock
      </Button>
      <Modal opened={opened} onClose={close} title={`Lock ${name}`} closeButtonProps={{ "aria-label": "Close" }}>
        <ActionForm
          draft={draft}
          action={action}
          input={(values) => ({
            path: { workspace_id: workspace.id },
            body: {
              reason: values.reason,
              "lease-seconds": values["lease-seconds"] === "" ? null : Number(values["lease-seconds"]),
            },
          })}
          verb="Lock"
          onCancel={close}
        >
          <Text c="dimmed" fz="sm">
            While it is locked nobody else writes its state, and runs wait.
          </Text>
          <Textarea
            label="Reason"
            description="Whoever finds it locked reads this."
            autosize
            minRows={2}
            data-autofocus
            {...draft.getInputProps("reason")}
          />
          <Select label="For how long" data={leases} {...draft.getInputProps("lease-seconds")} />
        </ActionForm>
      </Modal>
    </>
  );
}

function LetGo({ place: { workspace } }: { readonly place: Place }) {
  const { name, "lock-expires-at": ends } = workspace.attributes;
  const input = { path: { workspace_id: workspace.id } };
  const renew = useAction("POST /workspaces/{workspace_id}/actions/renew-lock", {
    done: `The lock of ${name} begins anew.`,
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

function ForceUnlock({ place: { workspace, included } }: { readonly place: Place }) {
  const [opened, { open, close }] = useOpened("force-unlock");
  const { name } = workspace.attributes;
  const action = useAction("POST /workspaces/{workspace_id}/actions/force-unlock", {
    done: `Unlocked ${name} with force.`,
    after: close,
  });
  return (
    <>
      <Button variant="default" color="red" leftSection={<IconLockOpen size={14} />} onClick={open}>
        Force unlock
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Unlock ${name} with force`}
        verb="Force unlock"
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } })}
      >
        It is locked by <LockedBy workspace={workspace} included={included} />. Whatever{" "}
        {holderOf({ workspace, included })} is writing meanwhile is given up, and a state that is still on its way is
        refused. Ask first, where you can.
      </DangerDialog>
    </>
  );
}
