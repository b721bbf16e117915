/** Connects a workspace to a repository: connection, repository, and branch or tags. */
import { Checkbox, Select, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { workspaceNamed, completeListQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { BranchInput, RepositoryInput } from "./picker.tsx";
import { repositoryOf } from "./words.ts";

interface ConnectFormProps {
  readonly details: WorkspaceDetails;
  readonly onClose: () => void;
}

export function ConnectForm(props: ConnectFormProps) {
  const { organization } = props.details;
  const connections = useQuery(
    completeListQuery("GET /organizations/{organization_name}/oauth-clients", {
      path: { organization_name: organization },
    }),
  );
  return (
    <QueryContent query={connections}>
      {({ data }) => {
        const choices = data.flatMap(({ attributes, relationships }) =>
          (relationships["oauth-tokens"]?.data ?? []).map(({ id }) => ({
            value: id,
            label: attributes.name ?? attributes["service-provider-display-name"],
          })),
        );
        return choices.length === 0 ? (
          <Empty
            title="No connections yet"
            action={<LinkButton to={paths.connections(organization)}>Version control</LinkButton>}
          >
            Connect your Git provider first.
          </Empty>
        ) : (
          <Fields {...props} choices={choices} />
        );
      }}
    </QueryContent>
  );
}

interface ConnectionFieldsProps extends ConnectFormProps {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

function Fields({ details: { organization, workspace, etag }, onClose, choices }: ConnectionFieldsProps) {
  const client = useQueryClient();
  const { name } = workspace.attributes;
  const known = repositoryOf(workspace);
  const draft = useDraft({
    "oauth-token-id": known?.["oauth-token-id"] ?? choices[0]!.value,
    identifier: known?.identifier ?? "",
    branch: known?.branch ?? "",
    "tags-regex": known?.["tags-regex"] ?? "",
    "ingress-submodules": known?.["ingress-submodules"] ?? false,
  });
  const token = draft.values["oauth-token-id"];
  const repository = draft.values.identifier.trim();
  return (
    <OperationForm
      draft={draft}
      operation="PATCH /workspaces/{workspace_id}"
      done={({ data }) => `Connected ${data.attributes.name} to ${data.attributes["vcs-repo-identifier"]}.`}
      after={onClose}
      verb={known ? "Save" : "Connect"}
      onCancel={onClose}
      etag={etag}
      reload={async () => (await client.fetchQuery({ ...workspaceNamed(organization, name), staleTime: 0 })).etag}
      isReady={repository !== ""}
      input={({ branch, "tags-regex": tags, identifier, ...rest }, version) => ({
        path: { workspace_id: workspace.id },
        ifMatch: version,
        body: {
          data: {
            type: "workspaces",
            attributes: {
              "vcs-repo": {
                ...rest,
                identifier: identifier.trim(),
                branch: branch || null,
                "tags-regex": tags || null,
              },
            },
          },
        },
      })}
    >
      <Select label="Connection" data={[...choices]} allowDeselect={false} {...draft.getInputProps("oauth-token-id")} />
      <RepositoryInput
        key={token}
        tokenId={token}
        label="Repository"
        placeholder="acme/network"
        description="Choose a repository or type its name."
        {...draft.getInputProps("identifier")}
        data-autofocus
      />
      <BranchInput
        key={`${token} ${repository}`}
        tokenId={token}
        repository={repository}
        label="Branch"
        placeholder="Default branch"
        description="Pushes to this branch start runs."
        {...draft.getInputProps("branch")}
      />
      <TextInput
        label="Tag pattern"
        placeholder="None"
        description="A regular expression such as ^v\d+\. If set, matching tags start runs and pushes don't."
        {...draft.getInputProps("tags-regex")}
      />
      <Checkbox label="Include submodules" {...draft.getInputProps("ingress-submodules", { type: "checkbox" })} />
    </OperationForm>
  );
}
