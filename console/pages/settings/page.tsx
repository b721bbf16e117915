/** The organization's own settings: what workspaces follow, sessions and tokens, retention, reserved keys, and its end. */
import { Box, Select, Stack, Switch, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import type { Answer } from "../../api/client.ts";
import { asking, organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { ActionForm, changesIn, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { ReservedKeys } from "./reserved-keys.tsx";
import { Retention } from "./retention.tsx";
import { TokenLifetimes } from "./token-lifetimes.tsx";

type Organization = Answer<"GET /organizations/{organization_name}">;

export default function OrganizationSettingsPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const query = useQuery(organizationQuery(organization));
  return (
    <Page title="Settings" crumbs={[{ label: organization, to: paths.organization(organization) }]}>
      <Asked query={query}>
        {(answer) => {
          const { "can-update": mayUpdate, "can-destroy": mayDelete } = answer.data.attributes.permissions;
          return (
            <Stack gap={0} maw="44rem" key={answer.data.id}>
              <Settings answer={answer} />
              <Retention organization={organization} mayUpdate={mayUpdate === true} />
              <ReservedKeys organization={organization} mayUpdate={mayUpdate === true} />
              {mayUpdate && <TokenLifetimes organization={organization} />}
              {mayDelete && <Danger organization={organization} />}
            </Stack>
          );
        }}
      </Asked>
    </Page>
  );
}

const modes = [
  { value: "remote", label: "remote: by this service's workers, if there are any" },
  { value: "local", label: "local: where Terraform is called" },
  { value: "agent", label: "agent: by a pool of agents" },
];

function Settings({ answer: { data, etag } }: { readonly answer: Organization }) {
  const go = useGo();
  const client = useQueryClient();
  const { attributes, relationships } = data;
  const mayUpdate = attributes.permissions["can-update"] === true;
  const pools = useQuery(
    asking("GET /organizations/{organization_name}/agent-pools", {
      path: { organization_name: attributes.name },
      query: { "page[size]": 100 },
    }),
  );
  const draft = useDraft({
    name: attributes.name,
    email: attributes.email,
    "default-execution-mode": attributes["default-execution-mode"],
    "default-agent-pool": relationships["default-agent-pool"]?.data?.id ?? "",
    "allow-force-delete-workspaces": attributes["allow-force-delete-workspaces"],
    "user-tokens-enabled": attributes["user-tokens-enabled"],
    "session-timeout": minutesOf(attributes["session-timeout"]),
    "session-remember": minutesOf(attributes["session-remember"]),
  });
  const save = useAction("PATCH /organizations/{organization_name}", {
    done: "Saved the settings.",
    refusal: "form",
    after: ({ data: saved }) => {
      draft.resetDirty();
      if (saved.attributes.name !== attributes.name)
        go(paths.organizationSettings(saved.attributes.name), { replace: true });
    },
  });
  return (
    <Section title="General" {...(!mayUpdate && { about: "Owners change these settings." })}>
      <ActionForm
        draft={draft}
        action={save}
        verb="Save"
        etag={etag}
        reload={async () => (await client.fetchQuery({ ...organizationQuery(attributes.name), staleTime: 0 })).etag}
        isReady={mayUpdate && draft.isDirty()}
        input={(_, version) => ({
          path: { organization_name: attributes.name },
          ifMatch: version,
          body: { data: { type: "organizations", ...sentOf(changesIn(draft)) } } as never,
        })}
      >
        <TextInput
          label="Name"
          description="Changing it changes every address and cloud block that names it."
          disabled={!mayUpdate}
          {...draft.getInputProps("name")}
        />
        <TextInput label="E-mail" type="email" disabled={!mayUpdate} {...draft.getInputProps("email")} />
        <Select
          label="Where workspaces run"
          description="For workspaces and projects without a mode of their own."
          data={modes}
          disabled={!mayUpdate}
          {...draft.getInputProps("default-execution-mode")}
        />
        {draft.getValues()["default-execution-mode"] === "agent" && (
          <Select
            label="Agent pool"
            data={pools.data?.data.map(({ id, attributes }) => ({ value: id, label: attributes.name })) ?? []}
            disabled={!mayUpdate}
            {...draft.getInputProps("default-agent-pool")}
          />
        )}
        <TextInput
          label="Sessions end after minutes of inactivity"
          placeholder="as the site says"
          inputMode="numeric"
          disabled={!mayUpdate}
          {...draft.getInputProps("session-timeout")}
        />
        <TextInput
          label="Sessions end after minutes in any case"
          placeholder="as the site says"
          inputMode="numeric"
          disabled={!mayUpdate}
          {...draft.getInputProps("session-remember")}
        />
        <Switch
          label="Workspace admins may delete workspaces that still manage resources"
          disabled={!mayUpdate}
          {...draft.getInputProps("allow-force-delete-workspaces", { type: "checkbox" })}
        />
        <Switch
          label="People's own tokens work here"
          description="If not, only tokens of teams and of the organization do; Terraform on somebody's machine, too."
          disabled={!mayUpdate}
          {...draft.getInputProps("user-tokens-enabled", { type: "checkbox" })}
        />
      </ActionForm>
    </Section>
  );
}

const minutesOf = (minutes: number | null | undefined): string => (minutes == null ? "" : String(minutes));

/** What was changed, as the API takes it: minutes are numbers, or none. */
function sentOf({ "default-agent-pool": pool, ...changes }: Record<string, string | boolean | undefined>) {
  const attributes: Record<string, unknown> = { ...changes };
  for (const name of ["session-timeout", "session-remember"]) {
    const typed = attributes[name];
    if (typed !== undefined)
      attributes[name] = typed === "" ? null : Number.isNaN(Number(typed)) ? typed : Number(typed);
  }
  return {
    attributes,
    ...(pool && { relationships: { "default-agent-pool": { data: { type: "agent-pools", id: pool } } } }),
  };
}

function Danger({ organization }: { readonly organization: string }) {
  const go = useGo();
  const remove = useAction("DELETE /organizations/{organization_name}", {
    done: `Deleted the organization ${organization}.`,
    after: () => go(paths.home(), { replace: true }),
  });
  return (
    <Section
      title="Delete the organization"
      about="Everything in it goes: projects, workspaces, states, teams, tokens."
    >
      <Box>
        <DangerButton
          verb="Delete this organization"
          title={`Delete the organization ${organization}?`}
          typed={organization}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { organization_name: organization } })}
        >
          Every project, workspace, state, variable, team and token of {organization} goes with it, and can't be had
          back. What the workspaces manage stays where it is, without anybody who knows of it.
        </DangerButton>
      </Box>
    </Section>
  );
}
