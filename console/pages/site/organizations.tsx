/** Every organization of the site, including disabled ones. */
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
          { title: "Actions", width: 1, cell: (organization) => <DisableOrganization organization={organization} /> },
        ]}
      />
    </SiteFrame>
  );
}

interface DisableOrganizationProps {
  readonly organization: Resource<"admin-organizations">;
}

function DisableOrganization({ organization: { attributes } }: DisableOrganizationProps) {
  const { name, "is-disabled": isDisabled } = attributes;
  const change = useAction("PATCH /admin/organizations/{organization_name}", {
    done: isDisabled ? `Enabled ${name}.` : `Disabled ${name}.`,
  });
  const toggle = () =>
    change.mutate({
      path: { organization_name: name },
      body: { data: { type: "organizations", attributes: { "is-disabled": !isDisabled } } },
    });
  if (isDisabled)
    return (
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={toggle}
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
      onConfirm={toggle}
    >
      Everyone except site admins loses access to {name}, with every token, until you enable it again. Nothing is
      deleted.
    </DangerButton>
  );
}
