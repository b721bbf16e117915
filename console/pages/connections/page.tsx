/** Connections to version control providers. */
import { Button, Group, PasswordInput, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerButton, FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { SecretOnce } from "../../ui/secret.tsx";
import { Empty } from "../../components/states.tsx";
import { Identifier, When } from "../../ui/text.tsx";
import { EditConnection } from "./edit.tsx";
import { type ProviderChoice, providers } from "./providers.ts";
import { connections } from "../../api/list-queries.ts";

export default function ConnectionsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const [opened, { open, close }] = useDisclosure();
  const { search, set } = useAddress();
  const leave = () => set({ edit: undefined });
  const rights = useRights(organization);
  const canUpdate = rights?.["can-update-oauth"];
  const query = useQuery(connections(organization, search));
  return (
    <Page
      title="Version control"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Connections to your Git providers. Workspaces use them to follow a repository."
      actions={canUpdate && <Button onClick={open}>New connection</Button>}
    >
      <List
        one="connection"
        label="Connections"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No connections yet">
            Connect your Git provider with a token that can read your repositories.
          </Empty>
        }
        columns={() => [
          { title: "Name", cell: nameOf },
          { title: "Provider", cell: ({ attributes }) => attributes["service-provider-display-name"] },
          { title: "URL", isExtra: true, cell: ({ attributes }) => attributes["http-url"] },
          {
            title: "Token ID",
            isExtra: true,
            cell: ({ relationships }) => {
              const id = relationships["oauth-tokens"]?.data?.[0]?.id;
              return id && <Identifier value={id} />;
            },
          },
          { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
          { title: "Actions", width: 1, cell: (client) => canUpdate && <Actions client={client} /> },
        ]}
      />
      <FormDialog opened={canUpdate === true && search["edit"] !== undefined} onClose={leave} title="Edit connection">
        <EditConnection organization={organization} id={search["edit"] ?? ""} onClose={leave} />
      </FormDialog>
      <FormDialog opened={opened} onClose={close} title="New connection">
        <Connect organization={organization} onClose={close} />
      </FormDialog>
    </Page>
  );
}

const nameOf = ({ attributes }: Resource<"oauth-clients">): string =>
  attributes.name ?? attributes["service-provider-display-name"];

function Actions({ client }: { readonly client: Resource<"oauth-clients"> }) {
  const { set } = useAddress();
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button
        variant="subtle"
        size="compact-xs"
        aria-label={`Edit ${nameOf(client)}`}
        onClick={() => set({ edit: client.id })}
      >
        Edit
      </Button>
      <Delete client={client} />
    </Group>
  );
}

function Delete({ client }: { readonly client: Resource<"oauth-clients"> }) {
  const { id } = client;
  const name = nameOf(client);
  const remove = useAction("DELETE /oauth-clients/{oauth_client_id}", { done: `Deleted connection ${name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${name}`}
      title={`Delete connection ${name}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { oauth_client_id: id } })}
    >
      Workspaces that use this connection lose their repository, and its token is deleted.
    </DangerButton>
  );
}

function Connect({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const [{ api, http }] = providers;
  const draft = useDraft({
    name: "",
    "service-provider": "github" as ProviderChoice["value"],
    "http-url": http,
    "api-url": api,
    "oauth-token-string": "",
  });
  const [secret, setSecret] = useState<string>();
  const about = providers.find(({ value }) => value === draft.values["service-provider"])?.about;
  const choose = (value: string | null) => {
    const provider = providers.find((one) => one.value === value);
    if (!provider) return;
    draft.setValues({ "service-provider": provider.value, "http-url": provider.http, "api-url": provider.api });
  };
  if (secret !== undefined)
    return (
      <SecretOnce title="Connected" label="Webhook secret" secret={secret} onDone={onClose}>
        Cadastre creates webhooks at the provider. If the token can't do that, create them by hand with this secret.
      </SecretOnce>
    );
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/oauth-clients"
      done="Connected."
      after={({ data }) =>
        data.attributes["webhook-secret"] ? setSecret(data.attributes["webhook-secret"]) : onClose()
      }
      verb="Connect"
      onCancel={onClose}
      input={({ name, ...rest }) => ({
        path: { organization_name: organization },
        body: { data: { type: "oauth-clients", attributes: { ...rest, name: name || null } } },
      })}
    >
      <Select
        label="Provider"
        data={providers.map(({ value, label }) => ({ value, label }))}
        value={draft.getValues()["service-provider"]}
        onChange={choose}
        error={draft.errors["service-provider"]}
      />
      <TextInput label="Name" placeholder="GitHub (platform team)" {...draft.getInputProps("name")} />
      <TextInput label="URL" {...draft.getInputProps("http-url")} />
      <TextInput label="API URL" description={about} {...draft.getInputProps("api-url")} />
      <PasswordInput
        label="Token"
        description="A provider token that can read the repositories. Stored encrypted and never shown again."
        autoComplete="off"
        {...draft.getInputProps("oauth-token-string")}
      />
    </OperationForm>
  );
}
