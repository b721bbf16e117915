/** The organization's settings: defaults, sessions and tokens, retention, reserved tag keys, and deletion. */
import { Stack, Switch, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { changesIn, useDraft, type FormDraft } from "../../components/forms.tsx";
import { QueryContent } from "../../components/states.tsx";
import { ReservedKeys } from "./reserved-keys.tsx";
import { Retention } from "./retention.tsx";
import { TokenLifetimes } from "./token-lifetimes.tsx";
import type { OperationResponse } from "../../api/client.ts";
import { EmailInput } from "../../ui/inputs.tsx";
import { useGo } from "../../ui/link.tsx";
import { DefaultExecution } from "../agent-pools/execution.tsx";

export default function OrganizationSettingsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const query = useQuery(organizationQuery(organization));
  return (
    <Page title="Settings" crumbs={[{ label: organization, to: paths.organization(organization) }]}>
      <QueryContent query={query}>
        {(response) => {
          const { "can-update": canUpdate, "can-destroy": canDelete } = response.data.attributes.permissions;
          return (
            <Stack gap={0} maw="44rem" key={response.data.id}>
              <General response={response} />
              {!response.isHosted && <Retention organization={organization} canUpdate={canUpdate === true} />}
              <ReservedKeys organization={organization} canUpdate={canUpdate === true} />
              {canUpdate && <TokenLifetimes organization={organization} />}
              {canDelete && <Danger organization={organization} />}
            </Stack>
          );
        }}
      </QueryContent>
    </Page>
  );
}

function Danger({ organization }: { readonly organization: string }) {
  return (
    <DeleteSection
      one="organization"
      name={organization}
      title="Delete organization"
      about="Deletes all of its projects, workspaces, states, teams and tokens."
      operation="DELETE /organizations/{organization_name}"
      input={{ path: { organization_name: organization } }}
      to={paths.home()}
    >
      This deletes every project, workspace, state, variable, team and token of {organization}. You can't undo this. The
      infrastructure that its workspaces manage is not destroyed, but nothing manages it afterwards.
    </DeleteSection>
  );
}

type Organization = OperationResponse<"GET /organizations/{organization_name}">;

export function General({ response: { data, etag } }: { readonly response: Organization }) {
  const go = useGo();
  const { attributes, relationships } = data;
  const canUpdate = attributes.permissions["can-update"] === true;
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
      canUpdate={canUpdate}
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
      <Fields draft={draft} organization={attributes.name} canUpdate={canUpdate} />
    </SettingsForm>
  );
}

interface OrganizationFieldsProps {
  readonly draft: FormDraft<any>;
  readonly organization: string;
  readonly canUpdate: boolean;
}

function Fields({ draft, organization, canUpdate }: OrganizationFieldsProps) {
  return (
    <>
      <TextInput
        label="Name"
        description="Changes the organization's URLs. Update every cloud block that names it."
        {...draft.getInputProps("name")}
      />
      <EmailInput {...draft.getInputProps("email")} />
      <DefaultExecution
        draft={draft}
        organization={organization}
        label="Default execution mode"
        description="Used by workspaces and projects that don't set their own."
        disabled={!canUpdate}
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
