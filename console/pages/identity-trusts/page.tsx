/** Identity trusts: pipelines that sign in with their own OIDC tokens, and the teams that they map to. */
import { Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { paths } from "../../paths.ts";
import { usePickerItem } from "../../components/pickers.tsx";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { When } from "../../ui/text.tsx";
import { type Trust, TrustForm } from "./form.tsx";
import { identityTrusts } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

export default function IdentityTrustsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [edited, setEdited] = useState<Trust | "new">();
  const close = () => setEdited(undefined);
  const { search } = useAddress();
  const query = useQuery(identityTrusts(organization, search));
  return (
    <Page
      title="Identity trusts"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="CI pipelines exchange their platform's OIDC token for a short-lived team token, without a stored secret."
      actions={query.isSuccess && <Button onClick={() => setEdited("new")}>New identity trust</Button>}
    >
      <List
        one="identity trust"
        label="Identity trusts"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No identity trusts yet">
            Choose an issuer, the claims to require (such as the repository) and a team. The pipeline exchanges its
            token for a team token at <code>{location.origin}/oauth/token</code>
          </Empty>
        }
        columns={() => [
          { title: "Name", cell: ({ attributes }) => attributes.name },
          { title: "Issuer", isExtra: true, cell: ({ attributes }) => attributes.issuer },
          { title: "Required claims", cell: ({ attributes }) => <Claims claims={attributes.claims} /> },
          {
            title: "Team",
            cell: ({ relationships }) => <Team organization={organization} id={relationships.team?.data?.id} />,
          },
          {
            title: "Token lifetime",
            isExtra: true,
            cell: ({ attributes }) => `${Math.round(attributes["token-seconds"] / 60)} min`,
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
          {
            title: "Actions",
            width: 1,
            cell: (trust) => (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                <Button
                  variant="subtle"
                  size="compact-xs"
                  aria-label={`Edit ${trust.attributes.name}`}
                  onClick={() => setEdited(trust)}
                >
                  Edit
                </Button>
                <Delete trust={trust} />
              </Group>
            ),
          },
        ]}
      />
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? "New identity trust" : `Edit ${edited?.attributes.name}`}
      >
        {edited !== undefined && (
          <TrustForm organization={organization} known={edited === "new" ? undefined : edited} onClose={close} />
        )}
      </FormDialog>
    </Page>
  );
}

function Claims({ claims }: { readonly claims: Readonly<Record<string, string>> }) {
  return (
    <Group gap={4}>
      {Object.entries(claims).map(([claim, pattern]) => (
        <Badge key={claim} tt="none" fw={400} variant="default">
          {claim}: {pattern}
        </Badge>
      ))}
    </Group>
  );
}

function Team({ organization, id }: { readonly organization: string; readonly id: string | undefined }) {
  const team = usePickerItem("teams", id);
  if (id === undefined) return null;
  return <Link to={paths.team(organization, id)}>{team?.attributes.name ?? id}</Link>;
}

function Delete({ trust: { id, attributes } }: { readonly trust: Trust }) {
  const { name } = attributes;
  const remove = useAction("DELETE /identity-trusts/{identity_trust_id}", { done: `Deleted identity trust ${name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${name}`}
      title={`Delete identity trust ${name}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { identity_trust_id: id } })}
    >
      Pipelines can no longer use this trust. Tokens that they already have work until they expire.
    </DangerButton>
  );
}
