/** Who has a permission anywhere in the organization: teams and people, how much they reach, and the sources. */
import { Group, SegmentedControl, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { permissionChoices, sourcesText, type Source } from "../../access/words.ts";
import { account, useRights } from "../../api/queries.ts";
import type { Resource } from "../../api/client.ts";
import { RequestAccess } from "../../components/request-access.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { useNow } from "../../now.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { type TableColumn, Pager, Table } from "../../ui/table.tsx";
import { figure } from "../../ui/text.tsx";
import { accessHolders, holdersPermission } from "../../api/list-queries.ts";

type Holder = Resource<"access-holders">;

export default function WhoHasAccessPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const now = useNow();
  const permission = holdersPermission(search);
  const rights = useRights(organization);
  const isHidden = rights !== undefined && !rights["can-create-team"] && !rights["can-manage-memberships"];
  const query = useQuery({
    ...accessHolders(organization, search),
    enabled: rights !== undefined && !isHidden,
  });
  return (
    <Page
      title="Who has access"
      about="People and teams with a permission on at least one workspace or project."
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={!isHidden && <LinkButton to={paths.grant(organization)}>Grant access</LinkButton>}
    >
      {isHidden ? (
        <NotForAll organization={organization} />
      ) : (
        <>
          <Group gap="sm" mb="sm">
            <Select
              aria-label="Permission"
              size="xs"
              w={220}
              searchable
              data={[...permissionChoices]}
              value={permission}
              onChange={(value) => set({ permission: value ?? undefined, page: undefined })}
            />
            <SegmentedControl
              size="xs"
              aria-label="Who"
              data={[
                { value: "", label: "All" },
                { value: "team", label: "Teams" },
                { value: "user", label: "People" },
              ]}
              value={search["kind"] ?? ""}
              onChange={(kind) => set({ kind, page: undefined })}
            />
          </Group>
          <QueryContent query={query}>
            {({ data, meta }) => (
              <>
                {data.length === 0 ? (
                  <Empty title="Nobody has this permission">You see only people and teams that you can manage.</Empty>
                ) : (
                  <Table
                    label="Who has access"
                    rows={data}
                    keyOf={({ id }) => id}
                    columns={columnsOf(organization, permission, now)}
                  />
                )}
                <Pager
                  pagination={meta?.pagination}
                  one="person or team"
                  many="people and teams"
                  onPage={(page) => set({ page: String(page) })}
                />
              </>
            )}
          </QueryContent>
        </>
      )}
    </Page>
  );
}

const columnsOf = (organization: string, permission: string, now: number): TableColumn<Holder>[] => [
  {
    title: "Who",
    cell: ({ attributes: { kind, name }, relationships }) => {
      const id = relationships.holder?.data?.id ?? "";
      const to = kind === "team" ? paths.teamReach(organization, id) : paths.personReach(organization, id);
      return <Link to={`${to}?permission=${permission}`}>{name}</Link>;
    },
  },
  { title: "Type", width: 70, cell: ({ attributes: { kind } }) => (kind === "team" ? "team" : "person") },
  {
    title: "Workspaces",
    isFigure: true,
    width: 120,
    cell: ({ attributes }) => (attributes.everywhere ? "everywhere" : figure(attributes["workspaces-count"])),
  },
  {
    title: "Projects",
    isFigure: true,
    width: 90,
    isExtra: true,
    cell: ({ attributes }) => figure(attributes["projects-count"]),
  },
  {
    title: "Source",
    isExtra: true,
    cell: ({ attributes }) =>
      sourcesText({
        sources: attributes["given-by"] as readonly Source[],
        hidden: attributes["hidden-sources"],
        hasTeams: attributes.kind === "user",
        now,
      }),
  },
];

function NotForAll({ organization }: { readonly organization: string }) {
  const me = useQuery(account()).data?.data;
  return (
    <Empty
      title="You need permission to manage teams or members"
      action={
        <>
          {me && <LinkButton to={paths.personReach(organization, me.id)}>Show my access</LinkButton>}
          <RequestAccess />
        </>
      }
    >
      This page covers the whole organization. To see who has access to one project or workspace, open its Access tab.
    </Empty>
  );
}
