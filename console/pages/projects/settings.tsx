/** A project's settings: its name, the defaults of its workspaces, its tags, and deleting it. */
import { Stack, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { project as projectQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { changesIn, useDraft } from "../../components/forms.tsx";
import { DeleteSection, SettingsForm } from "../../components/settings.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { counted } from "../../ui/text.tsx";
import { DefaultExecution } from "../agent-pools/execution.tsx";
import { ProjectFrame, type ProjectDetails } from "./frame.tsx";
import { Bindings } from "./tags.tsx";
import { projectTags } from "../../api/detail-queries.ts";

export default function ProjectSettingsPage() {
  return (
    <ProjectFrame>
      {(details) => (
        <Stack gap={0} maw="44rem">
          <Settings key={details.project.id} {...details} />
          <Tags {...details} />
          {details.project.attributes.permissions["can-destroy"] && <Danger {...details} />}
        </Stack>
      )}
    </ProjectFrame>
  );
}

function Settings({ organization, project, etag }: ProjectDetails) {
  const { attributes, relationships } = project;
  const isOwn = attributes["setting-overwrites"]["default-execution-mode"] === true;
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? "",
    "default-execution-mode": isOwn ? (attributes["default-execution-mode"] as string) : "",
    "default-agent-pool": relationships["default-agent-pool"]?.data?.id ?? "",
    "auto-destroy-activity-duration": attributes["auto-destroy-activity-duration"] ?? "",
  });
  const canUpdate = attributes.permissions["can-update"] === true;
  return (
    <SettingsForm
      draft={draft}
      operation="PATCH /projects/{project_id}"
      query={projectQuery(project.id)}
      etag={etag}
      canUpdate={canUpdate}
      done="Saved the project."
      input={(ifMatch) => ({
        path: { project_id: project.id },
        ifMatch,
        body: { data: { type: "projects", ...sentOf(changesIn(draft)) } },
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} />
      <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
      <DefaultExecution
        draft={draft}
        organization={organization}
        label="Default execution mode"
        description="For workspaces that use the project default."
        follows="Organization default"
        disabled={!canUpdate}
      />
      <TextInput
        label="Auto-destroy after inactivity of"
        placeholder="Never"
        description="For example 14d or 36h. Applies to workspaces that use the project's setting."
        {...draft.getInputProps("auto-destroy-activity-duration")}
      />
    </SettingsForm>
  );
}

function sentOf(changes: Record<string, string | undefined>) {
  const { "default-execution-mode": mode, "default-agent-pool": pool, ...rest } = changes;
  const attributes: Record<string, unknown> = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, value === "" ? null : value]),
  );
  if (mode !== undefined)
    Object.assign(
      attributes,
      mode === ""
        ? { "setting-overwrites": { "default-execution-mode": false, "default-agent-pool": false } }
        : { "default-execution-mode": mode },
    );
  // A project takes the id as an attribute, and returns it as a relationship.
  if (pool) attributes["default-agent-pool-id"] = pool;
  return { attributes };
}

function Tags({ project }: ProjectDetails) {
  const path = { project_id: project.id };
  const bindings = useQuery(projectTags(project.id));
  const add = useAction("PATCH /projects/{project_id}/tag-bindings", { done: "Saved the tags." });
  const replace = useAction("PATCH /projects/{project_id}", { done: "Saved the tags." });
  return (
    <Section
      title="Tags"
      about="Workspaces inherit these tags and can override them. You can prevent workspaces from overriding a project's value with a reserved key."
    >
      <QueryContent query={bindings}>
        {({ data }) => (
          <Bindings
            bindings={data.map(({ attributes }) => ({ key: attributes.key, value: attributes.value ?? "" }))}
            canUpdate={project.attributes.permissions["can-update"] === true}
            isBusy={add.isPending || replace.isPending}
            onAdd={(binding) => add.mutate({ path, body: { data: [{ type: "tag-bindings", attributes: binding }] } })}
            onKeep={(kept) =>
              replace.mutate({
                path,
                body: {
                  data: {
                    type: "projects",
                    relationships: {
                      "tag-bindings": { data: kept.map((attributes): any => ({ type: "tag-bindings", attributes })) },
                    },
                  },
                },
              })
            }
          />
        )}
      </QueryContent>
    </Section>
  );
}

function Danger({ organization, project }: ProjectDetails) {
  const { name, "workspace-count": count } = project.attributes;
  return (
    <DeleteSection
      one="project"
      name={name}
      about={
        count > 0
          ? `Move or delete ${counted(count, "workspace")} first.`
          : "This also deletes team access to the project and the variable sets it owns."
      }
      operation="DELETE /projects/{project_id}"
      input={{ path: { project_id: project.id } }}
      to={paths.projects(organization)}
    >
      This deletes the project {name}, team access to it, and the variable sets it owns. You can't undo this.
    </DeleteSection>
  );
}
