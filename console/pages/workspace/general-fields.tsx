/** The fields of the general settings. */
import { Checkbox, Fieldset, Group, Radio, Select, Stack, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import type { FormDraft } from "../../components/forms.tsx";
import { Link } from "../../ui/link.tsx";
import { InstantInput } from "../../ui/expiry-input.tsx";
import { PoolSelect } from "../agent-pools/execution.tsx";
import type { WorkspaceDetails } from "./details.ts";

export interface GeneralSettings {
  readonly name: string;
  readonly description: string;
  readonly "execution-mode": string;
  readonly "agent-pool-id": string;
  readonly engine: string;
  readonly "engine-version": string;
  readonly "working-directory": string;
  readonly "auto-apply": boolean;
  readonly "auto-apply-run-trigger": boolean;
  readonly "allow-destroy-plan": boolean;
  readonly "structured-run-output-enabled": boolean;
  readonly "queue-all-runs": boolean;
  readonly "speculative-enabled": boolean;
  readonly "file-triggers-enabled": boolean;
  readonly "trigger-prefixes": string[];
  readonly "trigger-patterns": string[];
  readonly "inherits-project-auto-destroy": boolean;
  readonly "auto-destroy-activity-duration": string;
  readonly "auto-destroy-at": string;
}

type Fields = { readonly draft: FormDraft<GeneralSettings> };
type WorkspaceFieldsProps = Fields & { readonly details: WorkspaceDetails };

export function NameFields({ draft }: Fields) {
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        description="Used in addresses and cloud blocks. If you change it, update every cloud block that names it."
        required
        {...draft.getInputProps("name")}
      />
      <Textarea label="Description" autosize minRows={1} {...draft.getInputProps("description")} />
    </Stack>
  );
}

export function ExecutionFields({ draft, details: { organization, workspace, included } }: WorkspaceFieldsProps) {
  const { "execution-mode": mode, "agent-pool-id": pool } = draft.values;
  const project = includedIn({ included }, "projects", workspace.relationships.project?.data?.id);
  return (
    <Fieldset legend="Execution">
      <Stack gap="sm">
        <Radio.Group label="Execution mode" {...draft.getInputProps("execution-mode")}>
          <Stack gap={6} mt={6}>
            <Radio
              value=""
              label="Project default"
              description={
                project && `The default of ${project.attributes.name}, or of ${organization} if it has none.`
              }
            />
            <Radio
              value="remote"
              label="Remote"
              description="Runs on the server's workers, or on agents of the site."
            />
            <Radio value="agent" label="Agent" description="Runs on an agent of an agent pool." />
            <Radio
              value="local"
              label="Local"
              description="Runs on your machine. Only the state is stored here: you can't start runs, and variables are not used."
            />
          </Stack>
        </Radio.Group>
        {mode === "agent" && (
          <PoolSelect
            organization={organization}
            description="A pool that this workspace can use."
            value={pool === "" ? null : pool}
            onChange={(value) => draft.setFieldValue("agent-pool-id", value ?? "")}
            error={draft.errors["agent-pool-id"]}
          />
        )}
        <Group grow align="flex-start">
          <Select
            label="Engine"
            data={[
              { value: "", label: "Site default" },
              { value: "terraform", label: "Terraform" },
              { value: "tofu", label: "OpenTofu" },
            ]}
            {...draft.getInputProps("engine")}
          />
          <TextInput
            label="Version"
            description="Exact, or a constraint such as ~> 1.9.0. An older version can't read a state that a newer one wrote."
            inputWrapperOrder={["label", "input", "description", "error"]}
            {...draft.getInputProps("engine-version")}
          />
        </Group>
        <TextInput
          label="Working directory"
          description="Directory in which runs execute, relative to the root of the configuration."
          placeholder="environments/production"
          {...draft.getInputProps("working-directory")}
        />
      </Stack>
    </Fieldset>
  );
}

export function RunFields({ draft }: Fields) {
  const flag = (name: keyof GeneralSettings) => draft.getInputProps(name, { type: "checkbox" });
  return (
    <Fieldset legend="Runs">
      <Stack gap="sm">
        <Checkbox
          label="Auto-apply"
          description="Apply successful plans without confirmation, if the person who started the run can apply."
          {...flag("auto-apply")}
        />
        <Checkbox label="Auto-apply runs started by run triggers" {...flag("auto-apply-run-trigger")} />
        <Checkbox
          label="Allow destroy runs"
          description="When off, all destroy runs are rejected, including scheduled ones."
          {...flag("allow-destroy-plan")}
        />
        <Checkbox
          label="Structured logs"
          description="Show plans by resource. When off, logs are plain terminal output."
          {...flag("structured-run-output-enabled")}
        />
      </Stack>
    </Fieldset>
  );
}

export function PushFields({ draft }: Fields) {
  const flag = (name: keyof GeneralSettings) => draft.getInputProps(name, { type: "checkbox" });
  const isFiltered = draft.values["file-triggers-enabled"];
  return (
    <Fieldset legend="Version control">
      <Stack gap="sm">
        <Checkbox
          label="Start runs before the first manual run"
          description="When off, pushes start no runs until someone starts the first run."
          {...flag("queue-all-runs")}
        />
        <Checkbox label="Plan pull requests" {...flag("speculative-enabled")} />
        <Checkbox
          label="Only start runs when certain files change"
          description="When off, every push to the branch starts a run."
          {...flag("file-triggers-enabled")}
        />
        {isFiltered && (
          <>
            <TagsInput
              label="Patterns"
              description="For example /modules/**/*.tf. Press Enter after each. You can use patterns or directories, not both: patterns clear the directories."
              {...draft.getInputProps("trigger-patterns")}
            />
            <TagsInput
              label="Directories"
              description="In addition to the working directory, which is always included."
              disabled={draft.values["trigger-patterns"].length > 0}
              {...draft.getInputProps("trigger-prefixes")}
            />
          </>
        )}
      </Stack>
    </Fieldset>
  );
}

export function AutoDestroyFields({ draft, details: { organization, workspace } }: WorkspaceFieldsProps) {
  const { "inherits-project-auto-destroy": isInherited } = draft.values;
  const project = workspace.relationships.project?.data?.id;
  const { "auto-destroy-activity-duration": duration, "auto-destroy-status": status } = workspace.attributes;
  return (
    <Fieldset legend="Auto-destroy">
      <Stack gap="sm">
        <Checkbox
          label="Use the project's setting"
          description={duration && isInherited ? `After ${duration} without a change.` : undefined}
          {...draft.getInputProps("inherits-project-auto-destroy", { type: "checkbox" })}
        />
        {!isInherited && (
          <Group grow align="flex-start">
            <TextInput
              label="After inactivity of"
              description="For example 14d or 12h. Leave empty for never."
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...draft.getInputProps("auto-destroy-activity-duration")}
            />
            <InstantInput
              label="At a fixed time"
              description="In your time zone. Leave empty for no fixed time."
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...draft.getInputProps("auto-destroy-at")}
            />
          </Group>
        )}
        <Text c="dimmed" fz="sm">
          A destroy run then destroys all resources; the workspace stays. Destroy runs must be allowed.
          {status && ` Status: ${status}.`}{" "}
          {project && (
            <Link to={paths.projectSettings(organization, project)} underline="always">
              Project settings
            </Link>
          )}
        </Text>
      </Stack>
    </Fieldset>
  );
}
