/** The general settings of a workspace: one form, conditional on the version that was read. */
import { Alert, Fieldset, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { workspaceNamed } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";
import type { WorkspaceDetails } from "./details.ts";
import {
  AutoDestroyFields,
  ExecutionFields,
  NameFields,
  PushFields,
  RunFields,
  type GeneralSettings,
} from "./general-fields.tsx";
import type { Resource } from "../../api/client.ts";

export function GeneralSettings({ details }: { readonly details: WorkspaceDetails }) {
  const { organization, workspace, etag } = details;
  const { name, permissions: may } = workspace.attributes;
  const go = useGo();
  const client = useQueryClient();
  const draft = useDraft<GeneralSettings>(settingsOf(workspace));
  const reload = async () => (await client.fetchQuery({ ...workspaceNamed(organization, name), staleTime: 0 })).etag;
  const canChange = may["can-update"] === true;
  return (
    <Stack maw="44rem">
      {!canChange && (
        <Alert color="gray" role="note">
          You need admin access to the workspace to change these settings.
        </Alert>
      )}
      <OperationForm
        draft={draft}
        operation="PATCH /workspaces/{workspace_id}"
        done={({ data }) => `Saved the settings of ${data.attributes.name}.`}
        after={({ data }) => {
          draft.setInitialValues(settingsOf(data));
          draft.resetDirty(settingsOf(data));
          draft.setValues(settingsOf(data));
          if (data.attributes.name !== name)
            go(paths.workspaceSettings(organization, data.attributes.name), { replace: true });
        }}
        etag={etag}
        reload={reload}
        input={(_, version) => ({
          path: { workspace_id: workspace.id },
          ifMatch: version,
          body: {
            data: {
              type: "workspaces",
              attributes: attributesOf(changesIn(draft), draft.getValues()),
            },
          },
        })}
        verb="Save settings"
        isReady={canChange && draft.isDirty()}
      >
        <Fieldset disabled={!canChange} variant="unstyled">
          <Stack gap="lg">
            <NameFields draft={draft} />
            <ExecutionFields draft={draft} details={details} />
            <RunFields draft={draft} />
            <PushFields draft={draft} />
            <AutoDestroyFields draft={draft} details={details} />
          </Stack>
        </Fieldset>
      </OperationForm>
    </Stack>
  );
}

export function settingsOf({ attributes, relationships }: Resource<"workspaces">): GeneralSettings {
  const isOwn = attributes["setting-overwrites"]["execution-mode"] === true;
  return {
    name: attributes.name,
    description: attributes.description ?? "",
    "execution-mode": isOwn ? attributes["execution-mode"] : "",
    "agent-pool-id": (isOwn ? relationships["agent-pool"]?.data?.id : undefined) ?? "",
    engine: attributes.engine ?? "",
    "engine-version": attributes["engine-version"],
    "working-directory": attributes["working-directory"] ?? "",
    "auto-apply": attributes["auto-apply"],
    "auto-apply-run-trigger": attributes["auto-apply-run-trigger"],
    "allow-destroy-plan": attributes["allow-destroy-plan"],
    "structured-run-output-enabled": attributes["structured-run-output-enabled"],
    "queue-all-runs": attributes["queue-all-runs"],
    "speculative-enabled": attributes["speculative-enabled"],
    "file-triggers-enabled": attributes["file-triggers-enabled"],
    "trigger-prefixes": [...attributes["trigger-prefixes"]],
    "trigger-patterns": [...attributes["trigger-patterns"]],
    "inherits-project-auto-destroy": attributes["inherits-project-auto-destroy"],
    "auto-destroy-activity-duration": attributes["inherits-project-auto-destroy"]
      ? ""
      : (attributes["auto-destroy-activity-duration"] ?? ""),
    "auto-destroy-at": attributes["auto-destroy-at"] ?? "",
  };
}

const nullable = ["description", "engine", "working-directory", "auto-destroy-activity-duration"] as const;

/** Attributes that depend on each other are sent together. */
export function attributesOf(changes: Partial<GeneralSettings>, whole: GeneralSettings): Record<string, unknown> {
  const { "execution-mode": mode, "agent-pool-id": pool, "auto-destroy-at": at, ...rest } = changes;
  const sent: Record<string, unknown> = { ...rest };
  for (const name of nullable) if (sent[name] === "") sent[name] = null;
  if (mode !== undefined || pool !== undefined) Object.assign(sent, executionOf(whole));
  if (at !== undefined) sent["auto-destroy-at"] = at === "" ? null : at;
  // Only one of the two lists is in effect.
  if (rest["trigger-patterns"]?.length) sent["trigger-prefixes"] = [];
  if (rest["inherits-project-auto-destroy"] === true) {
    delete sent["auto-destroy-activity-duration"];
    delete sent["auto-destroy-at"];
  }
  return sent;
}

function executionOf({ "execution-mode": mode, "agent-pool-id": pool }: GeneralSettings): object {
  if (mode === "") return { "setting-overwrites": { "execution-mode": false, "agent-pool": false } };
  return { "execution-mode": mode, ...(mode === "agent" && { "agent-pool-id": pool }) };
}
