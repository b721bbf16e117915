/** The managed resources of all workspaces in an organization that the caller can see. */
import { Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { List, WorkspaceLink } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { Empty } from "../../components/states.tsx";
import { Dimmed, When } from "../../ui/text.tsx";
import { resources, resourceOrder } from "../../api/list-queries.ts";

const filters = [
  ["type", "Type", "aws_s3_bucket"],
  ["provider", "Provider", "hashicorp/aws"],
  ["module", "Module", "module.network"],
] as const;

export default function ResourcesPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const sort = resourceOrder(search);
  const query = useQuery(resources(organization, search));
  const isFiltered = filters.some(([name]) => search[name]);
  return (
    <Page
      title="Resources"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Everything in the current states of the workspaces that you can read."
    >
      <List
        one="resource"
        label="Resources"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        sort={sort}
        filters={<Filters search={search} set={(changes) => set({ ...changes, page: undefined })} />}
        empty={
          <Empty title={isFiltered ? "No resources match these filters" : "No resources yet"}>
            {isFiltered
              ? "Filters match whole names, spelled as in the state."
              : "They appear when a workspace gets its first state."}
          </Empty>
        }
        columns={({ included }) => [
          {
            title: "Address",
            sort: "address",
            cell: ({ attributes }) => <span className="mono wrapped">{attributes.address}</span>,
          },
          {
            title: "Workspace",
            cell: ({ relationships }) => {
              const workspace = includedIn({ included }, "workspaces", relationships.workspace?.data?.id);
              return workspace && <WorkspaceLink organization={organization} name={workspace.attributes.name} />;
            },
          },
          { title: "Provider", isExtra: true, cell: ({ attributes }) => <Dimmed>{attributes.provider}</Dimmed> },
          { title: "Module", isExtra: true, cell: ({ attributes }) => <Dimmed>{attributes.module}</Dimmed> },
          {
            title: "Changed",
            width: 110,
            isExtra: true,
            cell: ({ attributes }) => <When time={attributes["updated-at"]} />,
          },
        ]}
      />
    </Page>
  );
}

interface ResourceFiltersProps {
  readonly search: Readonly<Record<string, string | undefined>>;
  readonly set: (changes: Record<string, string | undefined>) => void;
}

const Filters = ({ search, set }: ResourceFiltersProps) => (
  <Group gap="xs" role="search" aria-label="Filter resources">
    {filters.map(([name, label, example]) => (
      <SearchInput
        key={name}
        aria-label={label}
        placeholder={`${label}, e.g. ${example}`}
        value={search[name]}
        onChange={(value) => set({ [name]: value })}
        w={{ base: "100%", xs: 240 }}
      />
    ))}
  </Group>
);
