/** The move board: many workspaces, one project, everything that each would lose and gain; then all of them at once, or none. */
import { Button, Grid, Group, Stack, Text, Title } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { moving } from "../../access/changes.ts";
import { Picker, useThing } from "../../pickers.tsx";
import { Preview } from "../../access/preview.tsx";
import { includedIn } from "../../api/client.ts";
import { asking } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, LoadingRows } from "../../ui/states.tsx";
import { counted } from "../../ui/text.tsx";
import type { Moved } from "./brings.ts";
import { Brought } from "./brought.tsx";
import { ChooseWorkspaces } from "./choose.tsx";

/** More would make an address that servers and chats cut off. */
const addressedMax = 100;

/** Chosen workspaces, by id; in the address too, so that a board can be shared. */
function useChosen(): readonly [readonly string[], (ids: readonly string[]) => void] {
  const { search, set } = useAddress();
  const [ids, setIds] = useState<readonly string[]>(() => search["workspaces"]?.split(",") ?? []);
  return [
    ids,
    (next) => {
      setIds(next);
      set({ workspaces: next.length > addressedMax ? undefined : next.join(",") });
    },
  ];
}

/** Each with its project and the tags in effect. */
function useMoved(ids: readonly string[]): readonly Moved[] | undefined {
  const found = useQueries({
    queries: ids.map((id) =>
      asking("GET /workspaces/{workspace_id}", {
        path: { workspace_id: id },
        query: { include: "project,effective_tag_bindings" },
      }),
    ),
  });
  if (found.some(({ isLoading }) => isLoading)) return undefined;
  return found.flatMap(({ data: answer }) => {
    if (answer === undefined) return [];
    const { id, attributes, relationships } = answer.data;
    const project = includedIn(answer, "projects", relationships.project?.data?.id);
    const tags = (answer.included ?? []).filter(({ type }: any) => type === "effective-tag-bindings");
    return [
      {
        id,
        name: attributes.name,
        project: { id: relationships.project?.data?.id ?? "", name: project?.attributes.name ?? "another project" },
        tags: tags.map(({ attributes, links }: any) => ({
          ...attributes,
          isInherited: links?.["inherited-from"] !== undefined,
        })),
      },
    ];
  });
}

export default function MovePage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search, set } = useAddress();
  const [chosen, setChosen] = useChosen();
  const target = useThing("projects", search["to"]);
  return (
    <Page
      title="Move workspaces"
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
      ]}
      about="Access, tags and variable sets come from a project. See what each workspace loses and gains before it goes."
    >
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 5 }}>
          <ChooseWorkspaces organization={organization} chosen={chosen} onChoose={setChosen} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="sm" style={{ position: "sticky", top: 64 }}>
            <Group align="flex-end" gap="sm">
              <Picker
                kind="projects"
                label="Move to the project"
                placeholder="Search projects…"
                w={{ base: "100%", xs: 280 }}
                organization={organization}
                value={search["to"]}
                onChange={(to) => set({ to })}
              />
              <Text pb={8} aria-live="polite">
                {counted(chosen.length, "workspace")} chosen
              </Text>
              {chosen.length > 0 && (
                <Button variant="subtle" mb={4} onClick={() => setChosen([])}>
                  Choose none
                </Button>
              )}
            </Group>
            {chosen.length > 0 && target ? (
              <Board {...{ organization, chosen, target: { id: target.id, name: target.attributes.name } }} />
            ) : (
              <Empty title={chosen.length === 0 ? "Choose workspaces" : "Choose a project"}>
                Tick them at the side; with Shift a whole range. What would change is told here before anything moves.
              </Empty>
            )}
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

interface BoardProps {
  readonly organization: string;
  readonly chosen: readonly string[];
  readonly target: { readonly id: string; readonly name: string };
}

function Board({ organization, chosen, target }: BoardProps) {
  const moved = useMoved(chosen);
  const go = useGo();
  if (moved === undefined) return <LoadingRows rows={6} />;
  const leaving = moved.filter(({ project }) => project.id !== target.id);
  if (leaving.length === 0) return <Empty title={`All of them are in ${target.name} already`} />;
  return (
    <Preview
      organization={organization}
      changes={[moving(target.id, leaving.map(({ id }) => id).toSorted())]}
      verb={`Move ${counted(leaving.length, "workspace")} to ${target.name}`}
      done={`Moved ${counted(leaving.length, "workspace")} to ${target.name}.`}
      after={() => go(paths.workspaces(organization, { project: target.id }))}
    >
      <Title order={2}>Tags and variable sets</Title>
      <Brought moved={leaving} target={target.id} />
    </Preview>
  );
}
