/** What each workspace would lose and gain with its project beside access: tags and variable sets. */
import { Table, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import classes from "../../access/access.module.css";
import { asking } from "../../api/queries.ts";
import { askingWhole } from "../../api/whole.ts";
import { type Brought as Change, type Moved, setsBrought, tagsBrought } from "./brings.ts";

interface BroughtProps {
  readonly moved: readonly Moved[];
  readonly target: string;
}

const setsOf = (project: string) =>
  askingWhole("GET /projects/{project_id}/varsets", { path: { project_id: project } });

export function Brought({ moved, target }: BroughtProps) {
  const projects = [...new Set(moved.map(({ project }) => project.id))];
  const here = useQueries({ queries: projects.map(setsOf) });
  const there = useQuery(setsOf(target));
  const tags = useQuery(asking("GET /projects/{project_id}/effective-tag-bindings", { path: { project_id: target } }));
  const rows = moved.map((workspace) => ({
    workspace,
    tags: tagsBrought(workspace, tags.data?.data.map(({ attributes }) => attributes) ?? []),
    sets: setsBrought(
      workspace,
      here[projects.indexOf(workspace.project.id)]?.data?.data ?? [],
      there.data?.data ?? [],
      target,
    ),
  }));
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
        {rows.map(({ workspace: { id, name, project }, tags, sets }) => (
          <Table.Tr key={id}>
            <Table.Td>
              <Text span inherit className="mono" style={{ overflowWrap: "anywhere" }}>
                {name}
              </Text>
              <Text fz="xs" c="dimmed">
                from {project.name}
              </Text>
            </Table.Td>
            <Table.Td style={{ verticalAlign: "top" }}>
              <Lines {...tags} />
            </Table.Td>
            <Table.Td style={{ verticalAlign: "top" }}>
              <Lines {...sets} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Lines({ gained, lost }: Change) {
  if (gained.length + lost.length === 0)
    return (
      <Text span inherit c="dimmed">
        as before
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
