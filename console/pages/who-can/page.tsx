/** Who can do something anywhere in the organization: every team and person that holds a permission, on how much, and by what. */
import { Group, SegmentedControl, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askable, sourceInShort, type Source } from "../../access/words.ts";
import { account, askingOn, organization as organizationQuery } from "../../api/queries.ts";
import type { Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Asked, Empty } from "../../ui/states.tsx";
import { type Column, Pager, Table } from "../../ui/table.tsx";
import { counted, figure } from "../../ui/text.tsx";

type Holder = Resource<"access-holders">;

export default function WhoCanPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search, set } = useAddress();
  const permission = search["permission"] ?? "can-queue-apply";
  const rights = useQuery(organizationQuery(organization)).data?.data.attributes.permissions;
  const isHidden = rights !== undefined && !rights["can-create-team"] && !rights["can-manage-memberships"];
  const query = useQuery({
    ...askingOn("GET /organizations/{organization_name}/access-holders", {
      path: { organization_name: organization },
      query: {
        "filter[permission]": permission,
        "filter[kind]": search["kind"],
        "page[size]": 50,
        "page[number]": search["page"],
      },
    }),
    enabled: rights !== undefined && !isHidden,
  });
  return (
    <Page
      title="Who can"
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
              data={[...askable]}
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
          <Asked query={query}>
            {({ data, meta }) => (
              <>
                {data.length === 0 ? (
                  <Empty title="Nobody">Nobody whom you may see holds this.</Empty>
                ) : (
                  <Table
                    label="Who can"
                    rows={data}
                    keyOf={({ id }) => id}
                    columns={columnsOf(organization, permission)}
                  />
                )}
                <Pager pagination={meta?.pagination} one="holder" onPage={(page) => set({ page: String(page) })} />
              </>
            )}
          </Asked>
        </>
      )}
    </Page>
  );
}

const columnsOf = (organization: string, permission: string): Column<Holder>[] => [
  {
    title: "Who",
    cell: ({ attributes: { kind, name }, relationships }) => {
      const id = relationships.holder?.data?.id ?? "";
      const to = kind === "team" ? paths.teamReach(organization, id) : paths.personReach(organization, id);
      return <Link to={`${to}?permission=${permission}`}>{name}</Link>;
    },
  },
  { title: "Kind", width: 70, cell: ({ attributes: { kind } }) => (kind === "team" ? "team" : "person") },
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
  { title: "By", isExtra: true, cell: ({ attributes }) => givenIn(attributes) },
];

function givenIn(attributes: Holder["attributes"]): string {
  const hidden = attributes["hidden-sources"];
  const all = (attributes["given-by"] as readonly Source[]).map((source) => {
    const team =
      attributes.kind === "user" && source.team && source.kind !== "ownership" ? `${source.team.name}, ` : "";
    const many = (source.records ?? 1) > 1 ? ` (${counted(source.records ?? 1, "grant")})` : "";
    return `${team}${sourceInShort(source)}${many}`;
  });
  return [...new Set(all), ...(hidden > 0 ? [`${hidden} hidden`] : [])].join("; ");
}

function NotForAll({ organization }: { readonly organization: string }) {
  const me = useQuery(account()).data?.data;
  return (
    <Empty
      title="Shown to those who manage teams or members"
      action={me && <LinkButton to={paths.personReach(organization, me.id)}>What you can reach</LinkButton>}
    >
      For the whole organization this needs the permission to manage teams or memberships. Who may do what to one
      project or workspace is on its own page, under Access.
    </Empty>
  );
}
