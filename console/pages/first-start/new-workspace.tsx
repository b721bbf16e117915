/** Creates a workspace in a project, whose id is in the address; on the first start it creates the project first. */
import { Box, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { Resource } from "../../api/client.ts";
import { organization as organizationQuery, project as projectQuery } from "../../api/queries.ts";
import { RequestAccess } from "../../components/request-access.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Link, useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryContent, Empty, LoadingRows } from "../../components/states.tsx";
import { AccessSentence } from "./access-sentence.tsx";
import { Steps } from "./steps.tsx";
import { projectsForWorkspaces } from "../../api/list-queries.ts";

export default function NewWorkspacePage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search } = useAddress();
  const isFirst = search["first"] === "yes";
  const isProject = isFirst && search["project"] === undefined;
  return (
    <Page
      title={isProject ? "Create a project" : "New workspace"}
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
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/projects"
      done={({ data }) => `Created project ${data.attributes.name}.`}
      after={({ data }) => set({ project: data.id }, { replace: false })}
      verb="Create project"
      input={(attributes) => ({
        path: { organization_name: organization },
        body: { data: { type: "projects", attributes } },
      })}
    >
      <Text c="dimmed">
        A project groups workspaces and controls which teams have access to them.
        {first && (
          <>
            {" "}
            You can also <Link to={paths.newWorkspace(organization, first, "yes")}>use the default project</Link>.
          </>
        )}
      </Text>
      <TextInput
        label="Name"
        placeholder="Network"
        description="For example a service or a team."
        {...draft.getInputProps("name")}
        autoFocus
      />
      <TextInput label="Description" {...draft.getInputProps("description")} />
    </OperationForm>
  );
}

const canCreateIn = (project: Resource<"projects"> | undefined): boolean =>
  project?.attributes.permissions["can-create-workspace"] === true;

/** The previous project stays while another loads, to keep the form's values. */
function useChosenProject(organization: string, first: Resource<"projects"> | undefined) {
  const { search } = useAddress();
  const known = useQuery(organizationQuery(organization));
  const defaultId = known.data?.data.relationships["default-project"]?.data?.id;
  const id = search["project"] ?? defaultId;
  const addressed = useQuery({
    ...projectQuery(id ?? ""),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
  });
  const isRefused = addressed.isError || (addressed.data !== undefined && !canCreateIn(addressed.data.data));
  const fallback = useQuery({
    ...projectQuery(defaultId ?? ""),
    enabled: isRefused && defaultId !== undefined && defaultId !== id,
  });
  const isLoading = known.isLoading || addressed.isLoading || fallback.isLoading;
  const usable = [addressed.data?.data, fallback.data?.data].find(canCreateIn);
  return { chosen: usable ?? (isLoading ? undefined : first), isChanging: addressed.isPlaceholderData };
}

function NewWorkspace({ organization }: { readonly organization: string }) {
  const projects = useQuery(projectsForWorkspaces(organization, {}));
  const { chosen, isChanging } = useChosenProject(organization, projects.data?.data[0]);
  return (
    <QueryContent query={projects}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="You can't create workspaces yet" action={<RequestAccess />}>
            You need the <em>maintain</em> or <em>admin</em> level on a project, or membership in a team that manages
            workspaces. Ask an owner of {organization}.
          </Empty>
        ) : chosen ? (
          <WorkspaceForm organization={organization} chosen={chosen} isChanging={isChanging} />
        ) : (
          <LoadingRows />
        )
      }
    </QueryContent>
  );
}

interface ProjectSelectProps {
  readonly organization: string;
  readonly chosen: Resource<"projects">;
}

function ProjectSelect({ organization, chosen }: ProjectSelectProps) {
  const { set } = useAddress();
  const [typed, setTyped] = useState(chosen.attributes.name);
  const [text] = useDebouncedValue(typed.trim(), 150);
  const found =
    useQuery(projectsForWorkspaces(organization, { q: text === chosen.attributes.name ? "" : text })).data?.data ?? [];
  const all = found.some(({ id }) => id === chosen.id) ? found : [chosen, ...found];
  return (
    <Select
      label="Project"
      description={<AccessSentence organization={organization} project={chosen} />}
      inputWrapperOrder={["label", "input", "description", "error"]}
      data={all.map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
      value={chosen.id}
      onChange={(project) => set({ project: project ?? undefined })}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage={`No projects match “${typed}”`}
      filter={({ options }) => options}
    />
  );
}

const modes = [
  { value: "", label: "Project default" },
  { value: "local", label: "Local: on your machine, with state and locks here" },
  { value: "remote", label: "Remote: on this server's workers" },
];

interface WorkspaceFormProps extends ProjectSelectProps {
  readonly isChanging: boolean;
}

function WorkspaceForm({ organization, chosen, isChanging }: WorkspaceFormProps) {
  const go = useGo();
  const { search } = useAddress();
  const isFirst = search["first"] === "yes";
  const draft = useDraft({ name: "", description: "", "execution-mode": "" });
  return (
    <OperationForm
      draft={draft}
      operation="POST /organizations/{organization_name}/workspaces"
      done={({ data }) => `Created workspace ${data.attributes.name}.`}
      after={({ data }) => go(paths.workspaceStart(organization, data.attributes.name, isFirst ? "yes" : undefined))}
      verb="Create workspace"
      isReady={!isChanging}
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
            relationships: { project: { data: { type: "projects", id: chosen.id } } },
          },
        },
      })}
    >
      <TextInput
        label="Name"
        placeholder="network-production"
        description="Letters, digits, - and _. Must be unique in the organization."
        {...draft.getInputProps("name")}
        autoFocus
      />
      <ProjectSelect organization={organization} chosen={chosen} />
      <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
      {!isFirst && (
        <Stack gap={4}>
          <Select label="Execution mode" data={modes} {...draft.getInputProps("execution-mode")} />
        </Stack>
      )}
    </OperationForm>
  );
}
