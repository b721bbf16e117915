/** A variable set: its variables, scope, settings and deletion. */
import { Checkbox, Stack, TextInput, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paths } from "../../paths.ts";
import { changesIn, useDraft } from "../../components/forms.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { counted } from "../../ui/text.tsx";
import { whereOf } from "./page.tsx";
import { Variables, type VariableSetDetails } from "./variables.tsx";
import { variableSet } from "../../api/detail-queries.ts";
import { useAction } from "../../api/actions.ts";
import { includedIn } from "../../api/client.ts";
import { SelectedItems } from "../../components/pickers.tsx";

export default function VariableSetPage() {
  const { organization, set } = useParams({ from: "/inside/$organization/variable-sets/$set" });
  const query = useQuery(variableSet(set));
  const attributes = query.data?.data.attributes;
  return (
    <Page
      title={attributes?.name ?? " "}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Variable sets", to: paths.variableSets(organization) },
      ]}
      about={attributes?.description}
    >
      <QueryContent query={query}>
        {(response) => (
          <Stack gap={0} maw="60rem" key={set}>
            <Variables organization={organization} response={response} />
            <Applied organization={organization} response={response} />
            {response.data.attributes.permissions["can-update"] && (
              <>
                <Settings organization={organization} response={response} />
                <Danger organization={organization} response={response} />
              </>
            )}
          </Stack>
        )}
      </QueryContent>
    </Page>
  );
}

function Settings({ response: { data: set, etag } }: VariableSetDetails) {
  const { name, description, global, priority } = set.attributes;
  const draft = useDraft({ name, description: description ?? "", global, priority });
  return (
    <SettingsForm
      draft={draft}
      operation="PATCH /varsets/{varset_id}"
      query={variableSet(set.id)}
      etag={etag}
      done="Saved the variable set."
      input={(ifMatch) => ({
        path: { varset_id: set.id },
        ifMatch,
        body: { data: { type: "varsets", attributes: changesIn(draft) } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} />
      <TextInput label="Description" {...draft.getInputProps("description")} />
      <Checkbox
        label="Apply to all workspaces"
        description="Turning this on clears the selected projects and workspaces."
        {...draft.getInputProps("global", { type: "checkbox" })}
      />
      <Checkbox
        label="Priority"
        description="Its variables override workspace variables and command-line values."
        {...draft.getInputProps("priority", { type: "checkbox" })}
      />
    </SettingsForm>
  );
}

function Danger({ organization, response: { data: set } }: VariableSetDetails) {
  const { name, "var-count": count } = set.attributes;
  return (
    <DeleteSection
      one="variable set"
      name={name}
      operation="DELETE /varsets/{varset_id}"
      input={{ path: { varset_id: set.id } }}
      to={paths.variableSets(organization)}
    >
      This deletes the set and its {counted(count, "variable")}. It applies to {whereOf(set)}, where runs no longer get
      them. You can't undo this.
    </DeleteSection>
  );
}

export function Applied(details: VariableSetDetails) {
  const { data: set } = details.response;
  if (set.attributes.global)
    return (
      <Section title="Applies to">
        <Text>All workspaces of the organization.</Text>
      </Section>
    );
  return (
    <Section title="Applies to" about="All workspaces in these projects, and these workspaces.">
      <ScopePicker details={details} kind="projects" />
      <ScopePicker details={details} kind="workspaces" />
    </Section>
  );
}

interface ScopePickerProps {
  readonly details: VariableSetDetails;
  readonly kind: "projects" | "workspaces";
}

function ScopePicker({ details: { organization, response }, kind }: ScopePickerProps) {
  const { data: set } = response;
  const path = { varset_id: set.id };
  // The operations differ only in the noun.
  const add = useAction(
    `POST /varsets/{varset_id}/relationships/${kind}` as "POST /varsets/{varset_id}/relationships/projects",
    { done: "Added. The next runs there get these variables." },
  );
  const remove = useAction(
    `DELETE /varsets/{varset_id}/relationships/${kind}` as "DELETE /varsets/{varset_id}/relationships/projects",
    { done: "Removed. The next runs there no longer get these variables." },
  );
  const bodyOf = (id: string) => ({ data: [{ type: kind as "projects", id }] });
  const chosen = set.relationships[kind]?.data ?? [];
  return (
    <SelectedItems
      organization={organization}
      kind={kind}
      label={kind === "projects" ? "Projects" : "Workspaces"}
      chosen={chosen.map(({ id }) => ({ id, name: includedIn(response, kind, id)?.attributes.name }))}
      change={
        set.attributes.permissions["can-update"]
          ? {
              onAdd: (id) => add.mutate({ path, body: bodyOf(id) }),
              onRemove: (id) => remove.mutate({ path, body: bodyOf(id) }),
            }
          : undefined
      }
    />
  );
}
