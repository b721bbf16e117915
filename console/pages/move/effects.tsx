/** The tags and variable sets that workspaces gain or lose by a move. Workspaces with the same effects share a row. */
import { Table, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { apiQuery, completeListQuery } from "../../api/queries.ts";
import { LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { counted, figure } from "../../ui/text.tsx";
import type { Resource } from "../../api/client.ts";
import classes from "../../access/access.module.css";

interface MoveEffectsProps {
  readonly moved: readonly MovableWorkspace[];
  readonly target: string;
}

const setsOf = (project: string) =>
  completeListQuery("GET /projects/{project_id}/varsets", { path: { project_id: project } });

export function MoveEffects({ moved, target }: MoveEffectsProps) {
  const projects = [...new Set(moved.map(({ project }) => project.id))];
  const here = useQueries({ queries: projects.map(setsOf) });
  const there = useQuery(setsOf(target));
  const tags = useQuery(
    apiQuery("GET /projects/{project_id}/effective-tag-bindings", { path: { project_id: target } }),
  );
  const all = [...here, there, tags];
  const failed = all.filter(({ data, isError }) => isError && data === undefined);
  if (failed[0])
    return (
      <ErrorMessage
        error={failed[0].error}
        title="Couldn't load tags and variable sets"
        onRetry={() => failed.forEach((query) => void query.refetch())}
      />
    );
  if (!tags.data || !there.data || here.some(({ data }) => data === undefined)) return <LoadingRows rows={3} />;
  const bound = tags.data.data.map(({ attributes }) => attributes);
  const setsThere = there.data.data;
  const rows = moved.map((workspace) => ({
    workspace,
    tags: tagEffects(workspace, bound),
    sets: variableSetEffects(
      workspace,
      here[projects.indexOf(workspace.project.id)]?.data?.data ?? [],
      setsThere,
      target,
    ),
  }));
  return <Effects rows={rows} />;
}

function Effects({ rows }: { readonly rows: readonly MoveEffect[] }) {
  const groups = [...Map.groupBy(rows, groupOf).values()];
  return (
    <Table aria-label="Tags and variable sets" fz="sm" verticalSpacing={4} layout="fixed">
      <Table.Thead>
        <Table.Tr fz="xs" c="dimmed">
          {["Workspace", "Tags", "Variable sets"].map((title) => (
            <Table.Th key={title} scope="col" fw={500}>
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {groups.map((group) => (
          <Table.Tr key={group[0]!.workspace.id}>
            <Table.Td style={{ verticalAlign: "top" }}>
              <Names names={group.map(({ workspace }) => workspace.name)} />
              <Text fz="xs" c="dimmed">
                from {group[0]!.workspace.project.name}
              </Text>
            </Table.Td>
            <Table.Td style={{ verticalAlign: "top" }}>
              <Lines {...group[0]!.tags} />
            </Table.Td>
            <Table.Td style={{ verticalAlign: "top" }}>
              <Lines {...group[0]!.sets} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface MoveEffect {
  readonly workspace: MovableWorkspace;
  readonly tags: GainsAndLosses;
  readonly sets: GainsAndLosses;
}

const groupOf = ({ workspace, tags, sets }: MoveEffect) => JSON.stringify([workspace.project.id, tags, sets]);

const namedMax = 3;

function Names({ names }: { readonly names: readonly string[] }) {
  const [shown, more] = [names.slice(0, namedMax), names.length - namedMax];
  return (
    <>
      {names.length > 1 && <Text inherit>{counted(names.length, "workspace")}</Text>}
      <Text inherit className="mono" style={{ overflowWrap: "anywhere" }} title={names.join("\n")}>
        {shown.join(", ")}
        {more > 0 && ` and ${figure(more)} more`}
      </Text>
    </>
  );
}

function Lines({ gained, lost }: GainsAndLosses) {
  if (gained.length + lost.length === 0)
    return (
      <Text span inherit c="dimmed">
        No change
      </Text>
    );
  return (
    <>
      {lost.map((name) => (
        <div key={name}>
          <span className={classes["loss"]}>− loses</span> {name}
        </div>
      ))}
      {gained.map((name) => (
        <div key={name}>
          <span className={classes["gain"]}>+ gains</span> {name}
        </div>
      ))}
    </>
  );
}

export interface Tag {
  readonly key: string;
  readonly value: string;
}

export interface MovableWorkspace {
  readonly id: string;
  readonly name: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly tags: readonly (Tag & { readonly isInherited: boolean })[];
}

interface GainsAndLosses {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

const written = ({ key, value }: Tag) => (value === "" ? key : `${key}: ${value}`);

/** A workspace's own tag wins over its project's tag with the same key. */
export function tagEffects({ tags }: MovableWorkspace, there: readonly Tag[]): GainsAndLosses {
  const own = new Set(tags.filter(({ isInherited }) => !isInherited).map(({ key }) => key));
  const before = tags.filter(({ isInherited }) => isInherited).map(written);
  const after = there.filter(({ key }) => !own.has(key)).map(written);
  return {
    gained: after.filter((tag) => !before.includes(tag)),
    lost: before.filter((tag) => !after.includes(tag)),
  };
}

type Varset = Resource<"varsets">;

const names = (set: Varset, kind: "projects" | "workspaces", id: string) =>
  (set.relationships[kind]?.data ?? []).some((one) => one.id === id);
const isOwned = (set: Varset) => (set.relationships.parent?.data as { type?: string } | undefined)?.type === "projects";
const isKept = (set: Varset, workspace: string) => !isOwned(set) && names(set, "workspaces", workspace);

/** Global sets and sets applied directly to the workspace stay. */
export function variableSetEffects(
  { id, project }: MovableWorkspace,
  here: readonly Varset[],
  there: readonly Varset[],
  target: string,
): GainsAndLosses {
  const applied = here.filter(
    (set) =>
      !set.attributes.global && (names(set, "projects", project.id) || (isOwned(set) && names(set, "workspaces", id))),
  );
  const applying = there.filter((set) => !set.attributes.global && names(set, "projects", target));
  const without = (some: readonly Varset[], others: readonly Varset[]) =>
    some
      .filter((set) => !others.some((other) => other.id === set.id) && !isKept(set, id))
      .map(({ attributes }) => attributes.name);
  return { gained: without(applying, applied), lost: without(applied, applying) };
}
