/** The end of a workspace: safely, where it manages nothing; with force, whatever it manages. */
import { Button, List, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { DangerDialog } from "../../ui/dialog.tsx";
import { useGo } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { counted } from "../../ui/text.tsx";
import type { Place } from "./place.ts";

export function DangerZone({ place }: { readonly place: Place }) {
  const { permissions: may } = place.workspace.attributes;
  if (!may["can-destroy"] && !may["can-force-delete"])
    return (
      <Section title="Delete">
        <Text c="dimmed">To delete this workspace you need admin access to it.</Text>
      </Section>
    );
  return (
    <Stack gap={0} maw="44rem">
      {may["can-destroy"] && <SafeDelete place={place} />}
      {may["can-force-delete"] && <ForceDelete place={place} />}
    </Stack>
  );
}

const useGone = ({ organization, workspace }: Place) => {
  const go = useGo();
  return {
    done: `Deleted ${workspace.attributes.name}.`,
    after: () => go(paths.workspaces(organization), { replace: true }),
  };
};

function SafeDelete({ place }: { readonly place: Place }) {
  const [opened, { open, close }] = useDisclosure();
  const { workspace } = place;
  const { name, "resource-count": managed, locked } = workspace.attributes;
  const action = useAction("POST /workspaces/{workspace_id}/actions/safe-delete", useGone(place));
  return (
    <Section
      title="Delete safely"
      about={
        managed === 0
          ? "It manages nothing, so nothing is left behind without an owner."
          : `It is refused while the workspace manages anything, and it manages ${managed === null ? "what an encrypted state says" : counted(managed, "resource")}. Destroy that first, by a run that destroys everything.`
      }
    >
      <Button color="red" variant="outline" w="fit-content" onClick={open}>
        Delete safely
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Delete ${name}`}
        verb="Delete safely"
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } }, { onSettled: close })}
      >
        <Gone />
        {locked && " It is locked, so this will be refused until it is unlocked."}
      </DangerDialog>
    </Section>
  );
}

function ForceDelete({ place }: { readonly place: Place }) {
  const [opened, { open, close }] = useDisclosure();
  const { workspace } = place;
  const { name, "resource-count": managed } = workspace.attributes;
  const action = useAction("DELETE /workspaces/{workspace_id}", useGone(place));
  return (
    <Section
      title="Delete with force"
      about="Whatever it manages. What is really there stays there, and nothing knows of it any more."
    >
      <Button color="red" w="fit-content" onClick={open}>
        Delete with force
      </Button>
      <DangerDialog
        opened={opened}
        onClose={close}
        title={`Delete ${name} with force`}
        verb="Delete with force"
        typed={name}
        isBusy={action.isPending}
        onConfirm={() => action.mutate({ path: { workspace_id: workspace.id } }, { onSettled: close })}
      >
        <Gone />
        {managed !== 0 && (
          <Text mt="xs" fw={600}>
            {managed === null ? "What its encrypted state manages" : counted(managed, "resource")} will be left without
            a state.
          </Text>
        )}
      </DangerDialog>
    </Section>
  );
}

function Gone() {
  return (
    <>
      This can't be taken back. With it go:
      <List size="sm" mt={4}>
        <List.Item>every state version, with its outputs</List.Item>
        <List.Item>its variables, sensitive ones too</List.Item>
        <List.Item>runs, plans, logs and configurations</List.Item>
        <List.Item>tags, teams' access to it, run triggers, and others' right to read its state</List.Item>
      </List>
    </>
  );
}
