/** The move page: select workspaces and a project, preview the effects, then move all of them or none. */
import { Box, Button, Grid, Group, Text, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { moveChange } from "../../access/changes.ts";
import { Preview } from "../../access/preview.tsx";
import { paths } from "../../paths.ts";
import { Picker, usePickerItem } from "../../components/pickers.tsx";
import { ActionBar } from "../../ui/action-bar.tsx";
import { useAddress } from "../../ui/address.ts";
import { useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { counted, figure } from "../../ui/text.tsx";
import { MoveEffects } from "./effects.tsx";
import { ChooseWorkspaces } from "./choose.tsx";
import { useSelectedWorkspaces } from "./selected-workspaces.ts";
import classes from "./move.module.css";
import { moveLimit, TooMany, useSelection } from "./selection.tsx";

export default function MovePage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search } = useAddress();
  const selection = useSelection();
  const target = usePickerItem("projects", search["to"]);
  const [buttons, setButtons] = useState<HTMLElement | null>(null);
  // One column has room for either the list or the preview.
  const isNarrow = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  const isReviewing = search["step"] === "review" && selection.ids.length > 0 && target !== undefined;
  return (
    <Page
      title="Move workspaces"
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
      ]}
      about="Workspaces get access, tags and variable sets from their project. Review what changes before you move them."
    >
      <Grid gap="xl" pb="md">
        {!(isNarrow && isReviewing) && (
          <Grid.Col span={{ base: 12, md: 5 }}>
            <ChooseWorkspaces organization={organization} selection={selection} />
          </Grid.Col>
        )}
        {!(isNarrow && !isReviewing) && (
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Box className={isNarrow ? undefined : classes["board"]} tabIndex={isNarrow ? undefined : 0}>
              {selection.ids.length > 0 && target ? (
                <Board {...{ organization, buttons }} ids={selection.ids} target={target} />
              ) : (
                <NothingToPreview isSelected={selection.ids.length > 0} />
              )}
            </Box>
          </Grid.Col>
        )}
      </Grid>
      <ActionBar count={selection.ids.length} onClear={() => selection.set([])}>
        <BarActions {...{ organization, isNarrow, isReviewing, setButtons }} count={selection.ids.length} />
      </ActionBar>
    </Page>
  );
}

const NothingToPreview = ({ isSelected }: { readonly isSelected: boolean }) =>
  isSelected ? (
    <Empty title="Select a project">Choose the project in the bar below to see what changes.</Empty>
  ) : (
    <Empty title="Select workspaces">
      Select workspaces in the list; hold Shift to select a range. A preview of the changes appears here.
    </Empty>
  );

interface BarActionsProps {
  readonly organization: string;
  readonly count: number;
  readonly isNarrow: boolean;
  readonly isReviewing: boolean;
  readonly setButtons: (element: HTMLElement | null) => void;
}

function BarActions({ organization, count, isNarrow, isReviewing, setButtons }: BarActionsProps) {
  const { search, set } = useAddress();
  const isReady = count > 0 && count <= moveLimit && search["to"] !== undefined;
  const isPreviewed = isReady && (!isNarrow || isReviewing);
  return (
    <Group gap="xs" className={classes["actions"]}>
      {count > moveLimit && <TooMany />}
      {isNarrow && isReviewing ? (
        <Button variant="default" size="sm" onClick={() => set({ step: undefined }, { replace: false })}>
          Back
        </Button>
      ) : (
        <Picker
          kind="projects"
          aria-label="Move to project"
          placeholder="Move to project…"
          organization={organization}
          value={search["to"]}
          onChange={(to) => set({ to })}
        />
      )}
      {isPreviewed ? (
        <Group gap="xs" ref={setButtons} />
      ) : isNarrow ? (
        <Button size="sm" disabled={!isReady} onClick={() => set({ step: "review" }, { replace: false })}>
          Review move
        </Button>
      ) : (
        <Button disabled>Move workspaces</Button>
      )}
    </Group>
  );
}

interface BoardProps {
  readonly organization: string;
  readonly ids: readonly string[];
  readonly target: { readonly id: string; readonly attributes: { readonly name: string } };
  readonly buttons: HTMLElement | null;
}

function Board({ organization, ids, target: { id, attributes }, buttons }: BoardProps) {
  const { moved, error } = useSelectedWorkspaces(organization, ids);
  const go = useGo();
  if (error) return <ErrorMessage error={error} />;
  if (moved === undefined) return <LoadingRows rows={6} />;
  const leaving = moved.filter(({ project }) => project.id !== id);
  if (ids.length > moveLimit) return <Empty title={`Select at most ${figure(moveLimit)} workspaces`} />;
  if (leaving.length === 0) return <Empty title={`These workspaces are already in ${attributes.name}`} />;
  return (
    <Preview
      organization={organization}
      changes={[moveChange(id, leaving.map((workspace) => workspace.id).toSorted())]}
      verb={`Move ${counted(leaving.length, "workspace")}`}
      done={`Moved ${counted(leaving.length, "workspace")} to ${attributes.name}.`}
      after={() => go(paths.workspaces(organization, { project: id }))}
      buttonsWithin={buttons}
    >
      {leaving.length < moved.length && (
        <Text fz="sm" c="dimmed">
          {counted(moved.length - leaving.length, "selected workspace")} already in {attributes.name}.
        </Text>
      )}
      <Title order={2}>Tags and variable sets</Title>
      <MoveEffects moved={leaving} target={id} />
    </Preview>
  );
}
