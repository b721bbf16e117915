/** The caller's organizations; the first page that a new user sees. */
import { Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { organizations } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { Pager } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";

export default function OrganizationsPage() {
  const { search, set } = useAddress();
  const query = useQuery(organizations(search["page"]));
  const create = <LinkButton to={paths.newOrganization()}>New organization</LinkButton>;
  return (
    <Page title="Organizations" actions={create}>
      <QueryContent query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No organizations yet" action={create}>
              An organization holds projects, workspaces and teams. Create one to get your first workspace for Terraform
              or OpenTofu.
            </Empty>
          ) : (
            <>
              <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
                {data.map(({ id, attributes }) => (
                  <Paper key={id} withBorder p="md">
                    <Stack gap={4}>
                      <Link to={paths.organization(attributes.name)} fw={600}>
                        {attributes.name}
                      </Link>
                      <Group gap={4} c="dimmed" fz="sm">
                        <Text inherit>Created</Text> <When time={attributes["created-at"]} />
                      </Group>
                    </Stack>
                  </Paper>
                ))}
              </SimpleGrid>
              <Pager pagination={meta?.pagination} one="organization" onPage={(page) => set({ page: String(page) })} />
            </>
          )
        }
      </QueryContent>
    </Page>
  );
}
