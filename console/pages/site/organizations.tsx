/** Every organization of the site, including closed ones. */
import { Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Link, LinkButton } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { figure } from "../../ui/text.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteOrganizations } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

export default function SiteOrganizationsPage() {
  const { search } = useAddress();
  const query = useQuery(siteOrganizations(search));
  const create = <LinkButton to={paths.newOrganization()}>New organization</LinkButton>;
  return (
    <SiteFrame actions={create}>
      <List
        one="organization"
        label="Organizations"
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title="No organizations yet" action={create} />}
        columns={() => [
          {
            title: "Name",
            cell: ({ attributes }) => (
              <Group gap="xs">
                <Link to={paths.organization(attributes.name)}>{attributes.name}</Link>
                {attributes["is-disabled"] && <Badge color="red">disabled</Badge>}
              </Group>
            ),
          },
          { title: "Notification email", isExtra: true, cell: ({ attributes }) => attributes["notification-email"] },
          {
            title: "Workspace limit",
            isFigure: true,
            cell: ({ attributes }) => figure(attributes["workspace-limit"]),
          },
          { title: "Actions", width: 1, cell: (organization) => <Close organization={organization} /> },
        ]}
      />
    </SiteFrame>
  );
}

function Close({ organization: { attributes } }: { readonly organization: Resource<"admin-organizations"> }) {
  const { name, "is-disabled": isClosed } = attributes;
  const change = useAction("PATCH /admin/organizations/{organization_name}", {
    done: isClosed ? `Enabled ${name}.` : `Disabled ${name}.`,
  });
  const turn = () =>
    change.mutate({
      path: { organization_name: name },
      body: { data: { type: "organizations", attributes: { "is-disabled": !isClosed } } },
    });
  if (isClosed)
    return (
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={turn}
        aria-label={`Enable ${name}`}
        loading={change.isPending}
      >
        Enable
      </Button>
    );
  return (
    <DangerButton
      isQuiet
      verb="Disable"
      label={`Disable ${name}`}
      title={`Disable ${name}?`}
      isBusy={change.isPending}
      onConfirm={turn}
    >
      Everyone except site admins loses access to {name}, with every token, until you enable it again. Nothing is
      deleted.
    </DangerButton>
  );
}
