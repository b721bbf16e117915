/** The projects and workspaces in reach, each with its level and the source of the access. */
import { ActionIcon, Badge, Group, Table, Text } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Fragment, useState } from "react";
import type { Resource } from "../api/client.ts";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { useNow } from "../now.ts";
import { counted, Name } from "../ui/text.tsx";
import { sourcesText, type Source } from "./words.ts";

type ReachItem = Resource<"reaches">;

interface Branch {
  readonly id: string;
  readonly name: string;
  /** Undefined if only some of the project's workspaces are in reach. */
  readonly project: ReachItem | undefined;
  readonly workspaces: readonly ReachItem[];
}

function branchesOf(rows: readonly ReachItem[]): Branch[] {
  const groups = Map.groupBy(rows, ({ relationships }) => relationships.project?.data?.id ?? "");
  return [...groups]
    .map(([id, items]) => ({
      id,
      name: items[0]?.attributes["project-name"] ?? id,
      project: items.find(({ attributes }) => attributes.kind === "project"),
      workspaces: items.filter(({ attributes }) => attributes.kind === "workspace"),
    }))
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

const openAtFirst = 40;

export function ReachTree({
  organization,
  rows,
}: {
  readonly organization: string;
  readonly rows: readonly ReachItem[];
}) {
  const branches = branchesOf(rows);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const isOpen = (id: string) => toggled.has(id) !== rows.length <= openAtFirst;
  const toggle = (id: string) =>
    setToggled(new Set(toggled.has(id) ? [...toggled].filter((one) => one !== id) : [...toggled, id]));
  return (
    <Table aria-label="Reach" layout="fixed">
      <Table.Thead>
        <Table.Tr fz="xs" c="dimmed">
          <Table.Th scope="col" fw={500} w="46%">
            Name
          </Table.Th>
          <Table.Th scope="col" fw={500} w={112}>
            Level
          </Table.Th>
          <Table.Th scope="col" fw={500}>
            Source
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {branches.map((branch) => (
          <Fragment key={branch.id}>
            <ProjectRow
              organization={organization}
              branch={branch}
              isOpen={isOpen(branch.id)}
              onToggle={() => toggle(branch.id)}
            />
            {isOpen(branch.id) &&
              branch.workspaces.map((item) => <WorkspaceRow key={item.id} {...{ organization, item }} />)}
          </Fragment>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface ProjectRowProps {
  readonly organization: string;
  readonly branch: Branch;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function ProjectRow({ organization, branch: { id, name, project, workspaces }, isOpen, onToggle }: ProjectRowProps) {
  return (
    <Table.Tr bg="var(--mantine-color-default-hover)">
      <Table.Th scope="row" fw={600}>
        <Group gap={4} wrap="nowrap">
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-expanded={isOpen}
            aria-label={`Workspaces of ${name}`}
            disabled={workspaces.length === 0}
            onClick={onToggle}
          >
            {isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
          </ActionIcon>
          {project ? <Link to={paths.projectAccess(organization, id)}>{name}</Link> : <span>{name}</span>}
          <Text span fz="xs" c="dimmed" fw={400} truncate>
            {counted(workspaces.length, "workspace")}
          </Text>
        </Group>
      </Table.Th>
      <Table.Td>{project ? <LevelBadge level={project.attributes.level} /> : "–"}</Table.Td>
      <Table.Td fz="sm">
        {project ? (
          <AccessSources item={project} />
        ) : (
          <Text c="dimmed" fz="sm">
            only workspaces below
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function WorkspaceRow({ organization, item }: { readonly organization: string; readonly item: ReachItem }) {
  const { name, level } = item.attributes;
  return (
    <Table.Tr>
      <Table.Td pl={44}>
        <Link to={paths.workspaceAccess(organization, name)}>
          <Name>{name}</Name>
        </Link>
      </Table.Td>
      <Table.Td>
        <LevelBadge level={level} />
      </Table.Td>
      <Table.Td fz="sm">
        <AccessSources item={item} />
      </Table.Td>
    </Table.Tr>
  );
}

const LevelBadge = ({ level }: { readonly level: string }) => (
  <Badge color={level === "admin" || level === "maintain" ? "accent" : "gray"} tt="none" fw={500}>
    {level}
  </Badge>
);

function AccessSources({ item: { attributes } }: { readonly item: ReachItem }) {
  const sources = attributes["given-by"] as readonly Source[];
  return <>{sourcesText({ sources, hidden: attributes["hidden-sources"], hasTeams: true, now: useNow() })}</>;
}
