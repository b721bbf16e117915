/** Deletes a workspace: safely, if it manages no resources, or by force. */
import { Button, List, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { useGo } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { counted } from "../../ui/text.tsx";
import type { WorkspaceDetails } from "./details.ts";

export function DangerZone({ details }: { readonly details: WorkspaceDetails }) {
  const { permissions: may } = details.workspace.attributes;
  if (!may["can-destroy"] && !may["can-force-delete"])
    return (
      <Section title="Delete">
        <Text c="dimmed">You need admin access to delete this workspace.</Text>
      </Section>
    );
  return (
    <Stack gap={0} maw="44rem">
      {may["can-destroy"] && <SafeDelete details={details} />}
      {may["can-force-delete"] && <ForceDelete details={details} />}
    </Stack>
  );
}

const useDeletedResult = ({ organization, workspace }: WorkspaceDetails) => {
  const go = useGo();
  return {
    done: `Deleted ${workspace.attributes.name}.`,
    after: () => go(paths.workspaces(organization), { replace: true }),
  };
};

function SafeDelete({ details }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useDisclosure();
  const { workspace } = details;
  const { name, "resource-count": managed, locked } = workspace.attributes;
  const action = useAction("POST /workspaces/{workspace_id}/actions/safe-delete", useDeletedResult(details));
  return (
    <Section
      title="Delete"
      about={
        managed === 0
          ? "This workspace manages no resources."
          : `This workspace manages ${managed === null ? "resources in an encrypted state" : counted(managed, "resource")}. Destroy them with a destroy run first, or force delete the workspace.`
      }
    >
      <Button color="red" variant="outline" w="fit-content" onClick={open}>
        Delete workspace
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        verb="Delete workspace"
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } }, { onSettled: close })}
      >
        <DeletedContents />
        {locked && " The workspace is locked. Unlock it first."}
      </DangerDialog>
    </Section>
  );
}

function ForceDelete({ details }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useDisclosure();
  const { workspace } = details;
  const { name, "resource-count": managed } = workspace.attributes;
  const action = useAction("DELETE /workspaces/{workspace_id}", useDeletedResult(details));
  return (
    <Section
      title="Force delete"
      about="Deletes the workspace even if it manages resources. The resources keep running, but nothing tracks them afterwards."
    >
      <Button color="red" w="fit-content" onClick={open}>
        Force delete
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Force delete ${name}?`}
        verb="Force delete"
        typed={name}
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } }, { onSettled: close })}
      >
        <DeletedContents />
        {managed !== 0 && (
          <Text mt="xs" fw={600}>
            {managed === null ? "The resources in its encrypted state" : counted(managed, "resource")} will be left
            without a state.
          </Text>
        )}
      </DangerDialog>
    </Section>
  );
}

function DeletedContents() {
  return (
    <>
      You can't undo this. It also deletes:
      <List size="sm" mt={4}>
        <List.Item>all state versions and outputs</List.Item>
        <List.Item>all variables</List.Item>
        <List.Item>all runs, plans, logs and configurations</List.Item>
        <List.Item>tags, team access, run triggers and state sharing</List.Item>
      </List>
    </>
  );
}
