/** Single sign-on providers. */
import { Badge, Button, Checkbox, Group, PasswordInput, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { CodeToCopy } from "../../ui/text.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteProviders } from "../../api/list-queries.ts";
import { useAddress } from "../../ui/address.ts";

type Provider = Resource<"sso-providers">;

export default function SiteProvidersPage() {
  const [edited, setEdited] = useState<Provider | "new">();
  const close = () => setEdited(undefined);
  const { search } = useAddress();
  const query = useQuery(siteProviders(search));
  return (
    <SiteFrame actions={<Button onClick={() => setEdited("new")}>Add provider</Button>}>
      <List
        one="provider"
        label="Providers"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No SSO providers yet">
            With single sign-on, people use their company account, and its groups can decide their teams.
          </Empty>
        }
        columns={() => [
          {
            title: "Name",
            cell: ({ attributes }) => (
              <Group gap="xs">
                {attributes.name}
                {attributes["create-users"] && <Badge>creates users</Badge>}
              </Group>
            ),
          },
          { title: "Issuer", isExtra: true, cell: ({ attributes }) => attributes.issuer },
          { title: "Scope", cell: ({ attributes }) => attributes.organization ?? "whole site" },
          { title: "Groups claim", isExtra: true, cell: ({ attributes }) => attributes["groups-claim"] ?? "–" },
          {
            title: "Actions",
            width: 1,
            cell: (provider) => (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                <Button
                  variant="subtle"
                  size="compact-xs"
                  onClick={() => setEdited(provider)}
                  aria-label={`Edit ${provider.attributes.name}`}
                >
                  Edit
                </Button>
                <Delete provider={provider} />
              </Group>
            ),
          },
        ]}
      />
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? "Add provider" : `Edit ${edited?.attributes.name}`}
      >
        {edited !== undefined && <ProviderForm provider={edited === "new" ? undefined : edited} onClose={close} />}
      </FormDialog>
    </SiteFrame>
  );
}

function Delete({ provider: { id, attributes } }: { readonly provider: Provider }) {
  const remove = useAction("DELETE /admin/sso-providers/{sso_provider_id}", { done: `Deleted ${attributes.name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${attributes.name}`}
      title={`Delete SSO provider ${attributes.name}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { sso_provider_id: id } })}
    >
      Nobody can sign in with {attributes.name} after this. People without a password need one, or another provider.
    </DangerButton>
  );
}

function ProviderForm({
  provider,
  onClose,
}: {
  readonly provider: Provider | undefined;
  readonly onClose: () => void;
}) {
  const known = provider?.attributes;
  const draft = useDraft({
    name: known?.name ?? "",
    issuer: known?.issuer ?? "",
    "client-id": known?.["client-id"] ?? "",
    "client-secret": "",
    "groups-claim": known?.["groups-claim"] ?? "",
    organization: known?.organization ?? "",
    "create-users": known?.["create-users"] ?? false,
  });
  const options = { refusal: "form", after: onClose } as const;
  const create = useAction("POST /admin/sso-providers", { ...options, done: "Added the provider." });
  const update = useAction("PATCH /admin/sso-providers/{sso_provider_id}", { ...options, done: "Saved the provider." });
  const bodyOf = ({ organization, ...values }: ReturnType<typeof draft.getValues>) => {
    const { "client-secret": secret, "groups-claim": groups, ...rest } = values;
    return {
      data: {
        type: "sso-providers" as const,
        attributes: {
          ...rest,
          "groups-claim": groups || null,
          // The server refuses a new provider without a secret.
          ...((secret !== "" && { "client-secret": secret }) as { "client-secret": string }),
          ...(organization !== (known?.organization ?? "") && { organization: organization || null }),
        },
      },
    };
  };
  const fields = <Fields draft={draft} provider={provider} />;
  return provider ? (
    <ActionForm
      draft={draft}
      action={update}
      verb="Save"
      onCancel={onClose}
      input={(values) => ({ path: { sso_provider_id: provider.id }, body: bodyOf(values) })}
    >
      {fields}
    </ActionForm>
  ) : (
    <ActionForm
      draft={draft}
      action={create}
      verb="Add provider"
      onCancel={onClose}
      input={(values) => ({ body: bodyOf(values) })}
    >
      {fields}
    </ActionForm>
  );
}

interface SsoProviderFieldsProps {
  readonly draft: { getInputProps: any };
  readonly provider: Provider | undefined;
}

function Fields({ draft, provider }: SsoProviderFieldsProps) {
  return (
    <>
      <Text c="dimmed" fz="sm">
        Register a web application at your provider, with this redirect URL:
      </Text>
      <CodeToCopy label="Redirect URL" text={`${location.origin}/app/sign-in/sso/callback`} />
      {provider?.attributes.organization && (
        <>
          <Text c="dimmed" fz="sm">
            Also register this one, for a provider that doesn't send its issuer when it redirects back:
          </Text>
          <CodeToCopy
            label="Redirect URL of this provider"
            text={`${location.origin}/app/sign-in/sso/${provider.id}/callback`}
          />
        </>
      )}
      <TextInput
        label="Name"
        description="Shown on the sign-in page."
        {...draft.getInputProps("name")}
        data-autofocus
      />
      <TextInput label="Issuer" placeholder="https://accounts.acme.example" {...draft.getInputProps("issuer")} />
      <TextInput label="Client ID" {...draft.getInputProps("client-id")} />
      <PasswordInput
        label="Client secret"
        description={provider ? "Leave empty to keep the current secret." : undefined}
        autoComplete="off"
        {...draft.getInputProps("client-secret")}
      />
      <TextInput
        label="Groups claim"
        placeholder="groups"
        description="People join the teams whose identity provider group is in this claim. Leave empty to ignore groups."
        {...draft.getInputProps("groups-claim")}
      />
      <TextInput
        label="Organization"
        description="Limits this provider to one organization. Leave empty for the whole site."
        {...draft.getInputProps("organization")}
      />
      <Checkbox label="Create users on first sign-in" {...draft.getInputProps("create-users", { type: "checkbox" })} />
    </>
  );
}
