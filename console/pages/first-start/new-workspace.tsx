/** A new workspace in a project; on a first start the project is made first. What was chosen is in the address. */
import { Box, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import { organization as organizationQuery } from "../../api/queries.ts";
import { askingWhole } from "../../api/whole.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Asked, Empty } from "../../ui/states.tsx";
import { Steps } from "./steps.tsx";

export default function NewWorkspacePage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search } = useAddress();
  const isFirst = search["first"] === "yes";
  const isProject = isFirst && search["project"] === undefined;
  return (
    <Page
      title={isProject ? "A project to begin with" : "New workspace"}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
      ]}
    >
      <Box maw="34rem">
        {isFirst && <Steps at={isProject ? 1 : 2} />}
        {isProject ? <FirstProject organization={organization} /> : <NewWorkspace organization={organization} />}
      </Box>
    </Page>
  );
}

function FirstProject({ organization }: { readonly organization: string }) {
  const { set } = useAddress();
  const known = useQuery(organizationQuery(organization)).data?.data;
  const first = known?.relationships["default-project"]?.data?.id;
  const draft = useDraft({ name: "", description: "" });
  const create = useAction("POST /organizations/{organization_name}/projects", {
    done: ({ data }) => `Made the project ${data.attributes.name}.`,
    refusal: "form",
    after: ({ data }) => set({ project: data.id }, { replace: false }),
  });
  return (
    <ActionForm
      draft={draft}
      action={create}
      verb="Make the project"
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "projects", attributes } },
      })}
    >
      <Text c="dimmed">
        A project holds workspaces that belong together, and says which teams may do what to them.
        {first && (
          <>
            {" "}
            One is there already: <Link to={paths.newWorkspace(organization, first, "yes")}>go on with it</Link>.
          </>
        )}
      </Text>
      <TextInput
        label="Name"
        placeholder="Network"
        description="For example what its workspaces are about, or whose they are."
        {...draft.getInputProps("name")}
        autoFocus
      />
      <TextInput label="Description" {...draft.getInputProps("description")} />
    </ActionForm>
  );
}

/** Only the projects in which the caller may make one are offered. */
function NewWorkspace({ organization }: { readonly organization: string }) {
  const projects = useQuery(
    askingWhole("GET /organizations/{organization_name}/projects", {
      path: { organization_name: organization },
      query: { "filter[permissions][create-workspace]": "true", sort: "name" },
    }),
  );
  return (
    <Asked query={projects}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="There is no project in which you may make a workspace">
            It takes the level <em>maintain</em> or <em>admin</em> on a project, or a team that manages workspaces. An
            owner of {organization} can grant it.
          </Empty>
        ) : (
          <WorkspaceForm
            organization={organization}
            projects={data.map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
          />
        )
      }
    </Asked>
  );
}

const modes = [
  { value: "", label: "As the project and the organization say" },
  { value: "local", label: "local: where Terraform is called; state and locks are here" },
  { value: "remote", label: "remote: by this service's workers" },
];

interface WorkspaceFormProps {
  readonly organization: string;
  readonly projects: { value: string; label: string }[];
}

function WorkspaceForm({ organization, projects }: WorkspaceFormProps) {
  const go = useGo();
  const { search, set } = useAddress();
  const isFirst = search["first"] === "yes";
  const draft = useDraft({ name: "", description: "", "execution-mode": "" });
  const chosen = projects.find(({ value }) => value === search["project"]) ?? projects[0]!;
  const create = useAction("POST /organizations/{organization_name}/workspaces", {
    done: ({ data }) => `Made the workspace ${data.attributes.name}.`,
    refusal: "form",
    after: ({ data }) => go(paths.workspaceStart(organization, data.attributes.name, isFirst ? "yes" : undefined)),
  });
  return (
    <ActionForm
      draft={draft}
      action={create}
      verb="Make the workspace"
      onCancel={() => go(paths.workspaces(organization))}
      input={({ name, description, "execution-mode": mode }) => ({
        path: { organization_name: organization },
        body: {
          data: {
            type: "workspaces",
            attributes: {
              name,
              ...(description !== "" && { description }),
              ...(mode !== "" && { "execution-mode": mode as "local" }),
            },
            relationships: { project: { data: { type: "projects", id: chosen.value } } },
          },
        },
      })}
    >
      <TextInput
        label="Name"
        placeholder="network-production"
        description="Letters, digits, - and _; unique in the organization."
        {...draft.getInputProps("name")}
        autoFocus
      />
      <Select
        label="Project"
        description="Who may do what to the workspace comes from its project first."
        data={projects}
        value={chosen.value}
        onChange={(project) => set({ project: project ?? undefined })}
        searchable
      />
      <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
      {!isFirst && (
        <Stack gap={4}>
          <Select label="Where it runs" data={modes} {...draft.getInputProps("execution-mode")} />
        </Stack>
      )}
    </ActionForm>
  );
}
