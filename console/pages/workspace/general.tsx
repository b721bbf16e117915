/** Name, execution, runs and what starts them: one form, bound to the version that was read, so that nobody's change is lost. */
import { Alert, Fieldset, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { workspaceNamed } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { OperationForm, changesIn, useDraft } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";
import type { Place } from "./place.ts";
import { AutoDestroyFields, ExecutionFields, NameFields, PushFields, RunFields } from "./general-fields.tsx";
import { attributesOf, settingsOf, type Settings } from "./general-settings.ts";

export function GeneralSettings({ place }: { readonly place: Place }) {
  const { organization, workspace, etag } = place;
  const { name, permissions: may } = workspace.attributes;
  const go = useGo();
  const client = useQueryClient();
  const draft = useDraft<Settings>(settingsOf(workspace));
  const reload = async () => (await client.fetchQuery({ ...workspaceNamed(organization, name), staleTime: 0 })).etag;
  const mayChange = may["can-update"] === true;
  return (
    <Stack maw="44rem">
      {!mayChange && (
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
        isReady={mayChange && draft.isDirty()}
      >
        <Fieldset disabled={!mayChange} variant="unstyled">
          <Stack gap="lg">
            <NameFields draft={draft} />
            <ExecutionFields draft={draft} place={place} />
            <RunFields draft={draft} />
            <PushFields draft={draft} />
            <AutoDestroyFields draft={draft} place={place} />
          </Stack>
        </Fieldset>
      </OperationForm>
    </Stack>
  );
}
