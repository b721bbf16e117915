/** Edits a connection: its name, token, projects, and webhook secret. */
import { Button, Checkbox, PasswordInput, Stack, TextInput, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import { SelectedItems } from "../../components/pickers.tsx";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { SecretOnce } from "../../ui/secret.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { PrivateKeyInput } from "../../ui/inputs.tsx";

const clientQuery = (id: string) =>
  apiQuery("GET /oauth-clients/{oauth_client_id}", { path: { oauth_client_id: id }, query: { include: "projects" } });
type ClientResponse = OperationResponse<"GET /oauth-clients/{oauth_client_id}">;

interface EditProps {
  readonly organization: string;
  readonly id: string;
  readonly onClose: () => void;
}

export function EditConnection({ organization, id, onClose }: EditProps) {
  const query = useQuery(clientQuery(id));
  return (
    <QueryContent query={query} loading={<LoadingRows rows={4} height={48} />}>
      {(response) => (
        <Stack gap={0}>
          <Settings key={id} response={response} onClose={onClose} />
          <Scope organization={organization} response={response} />
          <WebhookSecret id={id} />
          {(response.data.relationships["oauth-tokens"]?.data ?? []).slice(0, 1).map((token) => (
            <ConnectionSshKey key={token.id} tokenId={token.id} />
          ))}
        </Stack>
      )}
    </QueryContent>
  );
}

function Settings({
  response: { data, etag },
  onClose,
}: {
  readonly response: ClientResponse;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const draft = useDraft({ name: data.attributes.name ?? "", "oauth-token-string": "" });
  return (
    <Section title="Settings">
      <OperationForm
        draft={draft}
        operation="PATCH /oauth-clients/{oauth_client_id}"
        done="Saved the connection."
        after={onClose}
        verb="Save"
        isReady={draft.isDirty()}
        onCancel={onClose}
        etag={etag}
        reload={async () => (await client.fetchQuery({ ...clientQuery(data.id), staleTime: 0 })).etag}
        input={(_, ifMatch) => ({
          path: { oauth_client_id: data.id },
          ifMatch,
          body: { data: { type: "oauth-clients", attributes: changesIn(draft) } },
        })}
      >
        <TextInput label="Name" {...draft.getInputProps("name")} data-autofocus />
        <PasswordInput
          label="New provider token"
          description="Leave empty to keep the current token. Connected workspaces use the new token right away."
          autoComplete="off"
          {...draft.getInputProps("oauth-token-string")}
        />
      </OperationForm>
    </Section>
  );
}

/** Saves each choice immediately, conditional on the version that was read. */
function Scope({ organization, response }: { readonly organization: string; readonly response: ClientResponse }) {
  const { data, etag } = response;
  const isForAll = data.attributes["organization-scoped"];
  const ids = (data.relationships.projects?.data ?? []).map(({ id }) => id);
  const change = useAction("PATCH /oauth-clients/{oauth_client_id}", { done: "Updated scope." });
  const send = (changes: object) =>
    change.mutate({
      path: { oauth_client_id: data.id },
      ifMatch: etag,
      body: { data: { type: "oauth-clients", ...changes } },
    });
  const keep = (kept: readonly string[]) =>
    send({ relationships: { projects: { data: kept.map((id) => ({ type: "projects", id })) } } });
  return (
    <Section title="Scope" about="Workspaces that already use this connection keep it.">
      <Checkbox
        label="All projects"
        checked={isForAll}
        disabled={change.isPending}
        onChange={() => send({ attributes: { "organization-scoped": !isForAll } })}
      />
      {!isForAll && (
        <SelectedItems
          organization={organization}
          kind="projects"
          label="Allowed projects"
          chosen={ids.map((id) => ({ id, name: includedIn(response, "projects", id)?.attributes.name }))}
          change={{ onAdd: (id) => keep([...ids, id]), onRemove: (id) => keep(ids.filter((one) => one !== id)) }}
        />
      )}
    </Section>
  );
}

function WebhookSecret({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string>();
  const replace = useAction("PATCH /oauth-clients/{oauth_client_id}", {
    done: "Generated a new webhook secret.",
    after: ({ data }) => setSecret(data.attributes["webhook-secret"] ?? undefined),
  });
  const make = () =>
    replace.mutate({
      path: { oauth_client_id: id },
      body: { data: { type: "oauth-clients", attributes: { "webhook-secret": null } } },
    });
  return (
    <Section
      title="Webhook secret"
      about="The secret proves that webhooks come from the provider. It is only shown once; if you need it to create a webhook by hand, generate a new one. The previous secret works for another day, and webhooks that Cadastre created are updated automatically."
    >
      {secret === undefined ? (
        <Button variant="default" mr="auto" loading={replace.isPending} onClick={make}>
          Generate new secret
        </Button>
      ) : (
        <SecretOnce title="New secret" label="Webhook secret" secret={secret} onDone={() => setSecret(undefined)}>
          Update webhooks that you created by hand within a day.
        </SecretOnce>
      )}
    </Section>
  );
}

export function ConnectionSshKey({ tokenId }: { readonly tokenId: string }) {
  const path = { oauth_token_id: tokenId };
  const query = useQuery(apiQuery("GET /oauth-tokens/{oauth_token_id}", { path }));
  const draft = useDraft({ "ssh-key": "" });
  const remove = useAction("PATCH /oauth-tokens/{oauth_token_id}", { done: "Removed SSH key." });
  const bodyOf = (key: string | null) => ({
    path,
    body: { data: { type: "oauth-tokens", attributes: { "ssh-key": key } } } as const,
  });
  return (
    <Section
      title="SSH key"
      about="Bitbucket Data Center and Azure DevOps serve code over SSH when a key is set. All providers use it for submodules over SSH."
    >
      <QueryContent query={query} loading={<LoadingRows rows={1} />}>
        {({ data }) =>
          data.attributes["has-ssh-key"] ? (
            <>
              <Text>A key is set. It is never shown.</Text>
              <Button
                variant="default"
                mr="auto"
                loading={remove.isPending}
                onClick={() => remove.mutate(bodyOf(null))}
              >
                Remove key
              </Button>
            </>
          ) : (
            <OperationForm
              draft={draft}
              operation="PATCH /oauth-tokens/{oauth_token_id}"
              done="Saved the SSH key."
              after={() => draft.reset()}
              verb="Save key"
              isReady={draft.isDirty()}
              input={(values) => bodyOf(values["ssh-key"])}
            >
              <PrivateKeyInput minRows={2} {...draft.getInputProps("ssh-key")} />
            </OperationForm>
          )
        }
      </QueryContent>
    </Section>
  );
}
