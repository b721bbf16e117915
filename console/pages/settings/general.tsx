/** What an organization is called, what its workspaces follow, and how people and their tokens are let in. */
import { Select, Switch, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import type { Answer } from "../../api/client.ts";
import { asking, organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { ActionForm, changesIn, useDraft, type Draft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";

type Organization = Answer<"GET /organizations/{organization_name}">;

const modes = [
  { value: "remote", label: "remote: by this service's workers, if there are any" },
  { value: "local", label: "local: where Terraform is called" },
  { value: "agent", label: "agent: by a pool of agents" },
];

export function General({ answer: { data, etag } }: { readonly answer: Organization }) {
  const go = useGo();
  const client = useQueryClient();
  const { attributes, relationships } = data;
  const mayUpdate = attributes.permissions["can-update"] === true;
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
        <Fields draft={draft} organization={attributes.name} mayUpdate={mayUpdate} />
      </ActionForm>
    </Section>
  );
}

interface FieldsProps {
  readonly draft: Draft<any>;
  readonly organization: string;
  readonly mayUpdate: boolean;
}

function Fields({ draft, organization, mayUpdate }: FieldsProps) {
  const pools = useQuery(
    asking("GET /organizations/{organization_name}/agent-pools", {
      path: { organization_name: organization },
      query: { "page[size]": 100 },
    }),
  );
  return (
    <>
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
    </>
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
