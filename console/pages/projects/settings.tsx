/** A project's own settings: its name, what its workspaces follow, its tags, and its end. */
import { Box, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { asking, project as projectQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { ActionForm, changesIn, useDraft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { counted } from "../../ui/text.tsx";
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

const modes = [
  { value: "", label: "As the organization says" },
  { value: "local", label: "local: where Terraform is called" },
  { value: "remote", label: "remote: by this service's workers" },
  { value: "agent", label: "agent: by a pool of agents" },
];

function Settings({ organization, project, etag }: ProjectPlace) {
  const client = useQueryClient();
  const { attributes, relationships } = project;
  const isOwn = attributes["setting-overwrites"]["default-execution-mode"] === true;
  const pools = useQuery(
    asking("GET /organizations/{organization_name}/agent-pools", {
      path: { organization_name: organization },
      query: { "page[size]": 100 },
    }),
  );
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? "",
    "default-execution-mode": isOwn ? (attributes["default-execution-mode"] as string) : "",
    "default-agent-pool": relationships["default-agent-pool"]?.data?.id ?? "",
    "auto-destroy-activity-duration": attributes["auto-destroy-activity-duration"] ?? "",
  });
  const save = useAction("PATCH /projects/{project_id}", {
    done: "Saved the project.",
    refusal: "form",
    after: () => draft.resetDirty(),
  });
  const mayUpdate = attributes.permissions["can-update"];
  const reload = async () => (await client.fetchQuery({ ...projectQuery(project.id), staleTime: 0 })).etag;
  return (
    <Section title="Settings" {...(!mayUpdate && { about: "You may read these settings, not change them." })}>
      <ActionForm
        draft={draft}
        action={save}
        verb="Save"
        etag={etag}
        reload={reload}
        isReady={mayUpdate && draft.isDirty()}
        input={(_, version) => ({
          path: { project_id: project.id },
          ifMatch: version,
          body: { data: { type: "projects", ...sentOf(changesIn(draft)) } } as never,
        })}
      >
        <Box component="fieldset" disabled={!mayUpdate} p={0} m={0} style={{ border: 0 }}>
          <Stack gap="sm">
            <TextInput label="Name" {...draft.getInputProps("name")} />
            <Textarea label="Description" autosize minRows={2} {...draft.getInputProps("description")} />
            <Select
              label="Where its workspaces run"
              description="For workspaces without an execution mode of their own."
              data={modes}
              disabled={!mayUpdate}
              {...draft.getInputProps("default-execution-mode")}
            />
            {draft.getValues()["default-execution-mode"] === "agent" && (
              <Select
                label="Agent pool"
                data={pools.data?.data.map(({ id, attributes }) => ({ value: id, label: attributes.name })) ?? []}
                {...draft.getInputProps("default-agent-pool")}
              />
            )}
            <TextInput
              label="Destroy what is inactive for"
              placeholder="never"
              description="14d or 36h: its workspaces that nobody changed for so long are destroyed, unless they say otherwise."
              {...draft.getInputProps("auto-destroy-activity-duration")}
            />
          </Stack>
        </Box>
      </ActionForm>
    </Section>
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
  return {
    attributes,
    ...(pool && { relationships: { "default-agent-pool": { data: { type: "agent-pools", id: pool } } } }),
  };
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
  const go = useGo();
  const { name, "workspace-count": count } = project.attributes;
  const remove = useAction("DELETE /projects/{project_id}", {
    done: `Deleted the project ${name}.`,
    after: () => go(paths.projects(organization), { replace: true }),
  });
  return (
    <Section
      title="Delete"
      about={
        count > 0
          ? `${counted(count, "workspace")} must be moved or deleted first.`
          : "Its grants, and variable sets that are its own, go with it."
      }
    >
      <Box>
        <DangerButton
          verb="Delete this project"
          title={`Delete the project ${name}?`}
          typed={name}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { project_id: project.id } })}
        >
          The project {name} goes, with the access that teams have to it and the variable sets that are its own. That
          can't be taken back.
        </DangerButton>
      </Box>
    </Section>
  );
}
