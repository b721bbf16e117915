/** What an organization is called, what its workspaces follow, and how people and their tokens are let in. */
import { Switch, TextInput } from "@mantine/core";
import type { Answer } from "../../api/client.ts";
import { organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { EmailInput } from "../../ui/inputs.tsx";
import { changesIn, useDraft, type Draft, SettingsForm } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";
import { DefaultExecution } from "../agent-pools/execution.tsx";

type Organization = Answer<"GET /organizations/{organization_name}">;

export function General({ answer: { data, etag } }: { readonly answer: Organization }) {
  const go = useGo();
  const { attributes, relationships } = data;
  const mayUpdate = attributes.permissions["can-update"] === true;
  const draft = useDraft({
    name: attributes.name,
    email: attributes.email,
    "default-execution-mode": attributes["default-execution-mode"],
    "default-agent-pool": relationships["default-agent-pool"]?.data?.id ?? "",
    "allow-force-delete-workspaces": attributes["allow-force-delete-workspaces"],
    "user-tokens-enabled": attributes["user-tokens-enabled"],
  });
  return (
    <SettingsForm
      title="General"
      readOnly="Only owners can change these settings."
      draft={draft}
      operation="PATCH /organizations/{organization_name}"
      query={organizationQuery(attributes.name)}
      etag={etag}
      mayUpdate={mayUpdate}
      done="Saved the settings."
      after={({ data: saved }) => {
        if (saved.attributes.name !== attributes.name)
          go(paths.organizationSettings(saved.attributes.name), { replace: true });
      }}
      input={(ifMatch) => ({
        path: { organization_name: attributes.name },
        ifMatch,
        body: { data: { type: "organizations", ...sentOf(changesIn(draft)) } },
      })}
    >
      <Fields draft={draft} organization={attributes.name} mayUpdate={mayUpdate} />
    </SettingsForm>
  );
}

interface FieldsProps {
  readonly draft: Draft<any>;
  readonly organization: string;
  readonly mayUpdate: boolean;
}

function Fields({ draft, organization, mayUpdate }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Name"
        description="Renaming changes the organization's URLs and every cloud block that uses it."
        {...draft.getInputProps("name")}
      />
      <EmailInput {...draft.getInputProps("email")} />
      <DefaultExecution
        draft={draft}
        organization={organization}
        label="Default execution mode"
        description="Used by workspaces and projects that don't set their own."
        disabled={!mayUpdate}
      />
      <Switch
        label="Allow workspace admins to force delete workspaces"
        description="When off, only owners can delete a workspace that still manages resources."
        {...draft.getInputProps("allow-force-delete-workspaces", { type: "checkbox" })}
      />
      <Switch
        label="Allow personal tokens"
        description="When off, only team and organization tokens work, also for Terraform on a laptop."
        {...draft.getInputProps("user-tokens-enabled", { type: "checkbox" })}
      />
    </>
  );
}

function sentOf({
  "default-agent-pool": pool,
  ...attributes
}: Readonly<Record<string, unknown>> & { readonly "default-agent-pool"?: string }) {
  return {
    attributes,
    ...(pool && { relationships: { "default-agent-pool": { data: { type: "agent-pools" as const, id: pool } } } }),
  };
}
