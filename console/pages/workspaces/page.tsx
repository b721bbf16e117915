/** The workspaces of an organization: searched as you type, filtered, sorted; all of it in the address. */
import { Button, Group, Select, Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { includedIn, type Resource } from "../../api/client.ts";
import { useRows } from "../../api/pages.ts";
import { organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Picker } from "../../pickers.tsx";
import { useAddress, type Search } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { LongTable } from "../../ui/long-table.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchInput } from "../../ui/search-input.tsx";
import { Empty, LoadingRows, NoMatches, Refusal } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { counted, figure, When } from "../../ui/text.tsx";
import { runStatusChoices, RunStatus } from "../runs/status.tsx";
import { LockedBy } from "./lock.tsx";
import { WorkspaceLink } from "../../workspace-link.tsx";

type Item = { readonly row: Resource<"workspaces">; readonly page: { readonly included?: readonly any[] } };

const columnsOf = (organization: string): Column<Item>[] => [
  {
    title: "Name",
    sort: "name",
    width: "minmax(0, 2fr)",
    cell: ({ row }) => <WorkspaceLink organization={organization} name={row.attributes.name} />,
  },
  {
    title: "Project",
    width: "minmax(0, 1fr)",
    isExtra: true,
    cell: ({ row, page }) => {
      const project = includedIn(page, "projects", row.relationships.project?.data?.id);
      return (
        project && (
          <Link to={paths.project(organization, project.id)} c="inherit">
            {project.attributes.name}
          </Link>
        )
      );
    },
  },
  {
    title: "Run",
    sort: "current-run.created-at",
    width: "minmax(0, 1fr)",
    cell: ({ row, page }) => {
      const run = includedIn(page, "runs", row.relationships["current-run"]?.data?.id);
      return run ? (
        <Link to={paths.run(organization, row.attributes.name, run.id)} c="inherit">
          <RunStatus status={run.attributes.status} />
        </Link>
      ) : (
        <RunStatus status={undefined} />
      );
    },
  },
  {
    title: "Resources",
    width: 84,
    isFigure: true,
    isExtra: true,
    cell: ({ row }) => figure(row.attributes["resource-count"]),
  },
  {
    title: "Changed",
    sort: "latest-change-at",
    width: 104,
    isExtra: true,
    cell: ({ row }) => <When time={row.attributes["latest-change-at"]} />,
  },
  {
    title: "Lock",
    width: "minmax(0, 1.5fr)",
    isExtra: true,
    cell: ({ row, page }) => <LockedBy workspace={row} included={page.included} />,
  },
];

export default function WorkspacesPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search, set } = useAddress();
  const columns = useMemo(() => columnsOf(organization), [organization]);
  const sort = search["sort"] ?? "name";
  const rows = useRows("GET /organizations/{organization_name}/workspaces", {
    path: { organization_name: organization },
    query: { ...filtersOf(search), sort, include: "project,current_run,locked_by" } as never,
  });
  const rights = useQuery(organizationQuery(organization)).data?.data.attributes.permissions;
  const isFiltered = Object.keys(filtersOf(search)).length > 0;
  return (
    <Page
      title="Workspaces"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={
        rights?.["can-create-workspace"] && (
          <LinkButton to={paths.newWorkspace(organization, search["project"])}>New workspace</LinkButton>
        )
      }
    >
      <Filters organization={organization} search={search} set={set} count={rows.count} />
      {rows.error ? <Refusal error={rows.error} /> : null}
      {rows.isLoading && <LoadingRows rows={16} height={34} />}
      {rows.count === 0 &&
        (isFiltered ? (
          <NoMatches
            many="workspaces"
            search={search["q"]}
            action={
              <Button
                variant="default"
                onClick={() => set(Object.fromEntries(Object.keys(search).map((name) => [name, undefined])))}
              >
                Show all
              </Button>
            }
          />
        ) : (
          <Empty
            title="No workspaces yet"
            action={<LinkButton to={paths.newWorkspace(organization)}>New workspace</LinkButton>}
          >
            A workspace keeps the state of one configuration, and everything that happens to it. Make one, and paste its{" "}
            <code>cloud</code> block into yours.
          </Empty>
        ))}
      {rows.count !== undefined && rows.count > 0 && (
        <LongTable
          label="Workspaces"
          columns={columns}
          count={rows.count}
          rowAt={rows.rowAt}
          onRange={rows.onRange}
          sort={sort}
          onSort={(sort) => set({ sort: sort === "name" ? undefined : sort })}
        />
      )}
    </Page>
  );
}

/** What the address says, as the API asks for it. */
function filtersOf(search: Search): Record<string, string> {
  const all = {
    "search[name]": search["q"],
    "search[tags]": search["tags"],
    "filter[project][id]": search["project"],
    "filter[current-run][status]": search["run"],
    "filter[locked-longer-than]": search["locked"],
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]));
}

interface FiltersProps {
  readonly organization: string;
  readonly search: Search;
  readonly set: (changes: Search) => void;
  readonly count: number | undefined;
}

const locks = [
  { value: "0m", label: "locked" },
  { value: "1h", label: "for over an hour" },
  { value: "1d", label: "for over a day" },
];

function Filters({ organization, search, set, count }: FiltersProps) {
  return (
    <Group mb="sm" gap="xs">
      <SearchInput
        placeholder="Search names…"
        aria-label="Search names"
        data-search
        leftSection={<IconSearch size={14} />}
        value={search["q"]}
        onChange={(q) => set({ q })}
        w={{ base: "100%", xs: 240 }}
      />
      <Picker
        kind="projects"
        organization={organization}
        aria-label="Project"
        placeholder="Project"
        value={search["project"]}
        onChange={(project) => set({ project })}
        clearLabel="Any project"
        w={150}
      />
      <SearchInput
        placeholder="Tags"
        aria-label="Tags, with commas between"
        value={search["tags"]}
        onChange={(tags) => set({ tags })}
        w={110}
      />
      <Choice label="Run" value={search["run"]} onChange={(run) => set({ run })} data={runStatusChoices} />
      <Choice label="Locked" value={search["locked"]} onChange={(locked) => set({ locked })} data={locks} />
      <Text c="dimmed" fz="sm" ml="auto" aria-live="polite">
        {count === undefined ? "" : counted(count, "workspace")}
      </Text>
    </Group>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly data: { readonly value: string; readonly label: string }[];
}

function Choice({ label, value, onChange, data }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={data}
      value={value ?? null}
      onChange={(value) => onChange(value ?? undefined)}
      clearable
      w={150}
      clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
    />
  );
}
