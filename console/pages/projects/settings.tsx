/** A project's own settings: its name, what its workspaces follow, its tags, and its end. */
import { Stack, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { asking, project as projectQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { changesIn, useDraft } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { End, SettingsForm } from "../../ui/settings.tsx";
import { Asked } from "../../ui/states.tsx";
import { counted } from "../../ui/text.tsx";
import { DefaultExecution } from "../agent-pools/execution.tsx";
import { ProjectFrame, type ProjectPlace } from "./frame.tsx";
import { Bindings } from "./tags.tsx";

export default function ProjectSettingsPage() {
  return (
    <ProjectFrame>
      {(place) => (
        <Stack gap={0} maw="44rem">
          <Settings key={place.project.id} {...place} />
          <Tags {...place} />
          {place.project.attributes.permissions["can-destroy"] && <Danger {...place} />}
        </Stack>
      )}
    </ProjectFrame>
  );
}

function Settings({ organization, project, etag }: ProjectPlace) {
  const { attributes, relationships } = project;
  const isOwn = attributes["setting-overwrites"]["default-execution-mode"] === true;
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? "",
    "default-execution-mode": isOwn ? (attributes["default-execution-mode"] as string) : "",
    "default-agent-pool": relationships["default-agent-pool"]?.data?.id ?? "",
    "auto-destroy-activity-duration": attributes["auto-destroy-activity-duration"] ?? "",
  });
  const mayUpdate = attributes.permissions["can-update"] === true;
  return (
    <SettingsForm
      draft={draft}
      operation="PATCH /projects/{project_id}"
      query={projectQuery(project.id)}
      etag={etag}
      mayUpdate={mayUpdate}
      done="Saved the project."
      input={(ifMatch) => ({
        path: { project_id: project.id },
        ifMatch,
        body: { data: { type: "projects", ...sentOf(changesIn(draft)) } } as never,
      })}
    >
      <TextInput label="Name" {...draft.getInputProps("name")} />
      <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
      <DefaultExecution
        draft={draft}
        organization={organization}
        label="Where its workspaces run"
        description="For workspaces without an execution mode of their own."
        follows="As the organization says"
        disabled={!mayUpdate}
      />
      <TextInput
        label="Destroy what is inactive for"
        placeholder="never"
        description="14d or 36h: its workspaces that nobody changed for so long are destroyed, unless they say otherwise."
        {...draft.getInputProps("auto-destroy-activity-duration")}
      />
    </SettingsForm>
  );
}

/** What was changed, as the API takes it: empty is none; a mode is the project's own, or the organization's. */
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
  // A project takes the id as an attribute, and shows it as a relationship.
  if (pool) attributes["default-agent-pool-id"] = pool;
  return { attributes };
}

function Tags({ project }: ProjectPlace) {
  const path = { project_id: project.id };
  const bindings = useQuery(asking("GET /projects/{project_id}/tag-bindings", { path }));
  const add = useAction("PATCH /projects/{project_id}/tag-bindings", { done: "Saved the tags." });
  const replace = useAction("PATCH /projects/{project_id}", { done: "Saved the tags." });
  return (
    <Section
      title="Tags"
      about="Keys with values. Its workspaces have them too, unless they say otherwise; a reserved key may forbid that."
    >
      <Asked query={bindings}>
        {({ data }) => (
          <Bindings
            bindings={data.map(({ attributes }) => ({ key: attributes.key, value: attributes.value ?? "" }))}
            mayUpdate={project.attributes.permissions["can-update"] === true}
            isBusy={add.isPending || replace.isPending}
            onAdd={(binding) =>
              add.mutate({ path, body: { data: [{ type: "tag-bindings", attributes: binding }] } as never })
            }
            onKeep={(kept) =>
              replace.mutate({
                path,
                body: {
                  data: {
                    type: "projects",
                    relationships: {
                      "tag-bindings": { data: kept.map((attributes) => ({ type: "tag-bindings", attributes })) },
                    },
                  },
                } as never,
              })
            }
          />
        )}
      </Asked>
    </Section>
  );
}

function Danger({ organization, project }: ProjectPlace) {
  const { name, "workspace-count": count } = project.attributes;
  return (
    <End
      one="project"
      name={name}
      about={
        count > 0
          ? `${counted(count, "workspace")} must be moved or deleted first.`
          : "Its grants, and variable sets that are its own, go with it."
      }
      operation="DELETE /projects/{project_id}"
      input={{ path: { project_id: project.id } }}
      to={paths.projects(organization)}
    >
      The project {name} goes, with the access that teams have to it and the variable sets that are its own. That can't
      be taken back.
    </End>
  );
}
