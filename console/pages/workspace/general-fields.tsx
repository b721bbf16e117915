/** The fields of the settings, each with the rule that bites where it bites. */
import { Checkbox, Fieldset, Group, Radio, Select, Stack, TagsInput, Text, Textarea, TextInput } from "@mantine/core";
import { includedIn } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import type { Draft } from "../../ui/form.tsx";
import { Link } from "../../ui/link.tsx";
import { PoolSelect } from "../agent-pools/execution.tsx";
import type { Place } from "./place.ts";
import type { Settings } from "./general-settings.ts";

type Fields = { readonly draft: Draft<Settings> };
type Placed = Fields & { readonly place: Place };

export function NameFields({ draft }: Fields) {
  return (
    <Stack gap="sm">
      <TextInput
        label="Name"
        description="Part of its address and of every cloud block that names it: those who use it must change theirs too."
        required
        {...draft.getInputProps("name")}
      />
      <Textarea label="Description" autosize minRows={1} {...draft.getInputProps("description")} />
    </Stack>
  );
}

export function ExecutionFields({ draft, place: { organization, workspace, included } }: Placed) {
  const { "execution-mode": mode, "agent-pool-id": pool } = draft.values;
  const project = includedIn({ included }, "projects", workspace.relationships.project?.data?.id);
  return (
    <Fieldset legend="Execution">
      <Stack gap="sm">
        <Radio.Group label="Where plans and applies are executed" {...draft.getInputProps("execution-mode")}>
          <Stack gap={6} mt={6}>
            <Radio
              value=""
              label="As its project or organization says"
              description={project && `The default of ${project.attributes.name}, or else of ${organization}.`}
            />
            <Radio
              value="remote"
              label="Remote"
              description="By the service: its own workers, or agents of the site."
            />
            <Radio value="agent" label="Agent" description="By an agent of a pool, wherever that one runs." />
            <Radio
              value="local"
              label="Local"
              description="Where people run it. Only the state is kept here; no run can be started, and its variables are not used."
            />
          </Stack>
        </Radio.Group>
        {mode === "agent" && (
          <PoolSelect
            organization={organization}
            description="One that serves this workspace."
            value={pool === "" ? null : pool}
            onChange={(value) => draft.setFieldValue("agent-pool-id", value ?? "")}
            error={draft.errors["agent-pool-id"]}
          />
        )}
        <Group grow align="flex-start">
          <Select
            label="Engine"
            data={[
              { value: "", label: "What the site uses" },
              { value: "terraform", label: "Terraform" },
              { value: "tofu", label: "OpenTofu" },
            ]}
            {...draft.getInputProps("engine")}
          />
          <TextInput
            label="Version"
            description="Exact, or a constraint such as ~> 1.9.0. A state that a newer one wrote can't be read by an older one."
            inputWrapperOrder={["label", "input", "description", "error"]}
            {...draft.getInputProps("engine-version")}
          />
        </Group>
        <TextInput
          label="Working directory"
          description="Where runs work, from the root of what is sent or cloned."
          placeholder="environments/production"
          {...draft.getInputProps("working-directory")}
        />
      </Stack>
    </Fieldset>
  );
}

export function RunFields({ draft }: Fields) {
  const flag = (name: keyof Settings) => draft.getInputProps(name, { type: "checkbox" });
  return (
    <Fieldset legend="Runs">
      <Stack gap="sm">
        <Checkbox
          label="Apply without asking"
          description="A plan that succeeds is applied at once, for those who may apply. Others' runs still wait for somebody."
          {...flag("auto-apply")}
        />
        <Checkbox
          label="The same for runs that another workspace's apply has started"
          {...flag("auto-apply-run-trigger")}
        />
        <Checkbox
          label="May be destroyed by a run"
          description="Off, every destroy run is refused, also one that a schedule starts."
          {...flag("allow-destroy-plan")}
        />
        <Checkbox
          label="Structured logs"
          description="Engines speak in JSON, and plans are drawn by resource. Off, logs are text as on a terminal."
          {...flag("structured-run-output-enabled")}
        />
      </Stack>
    </Fieldset>
  );
}

export function PushFields({ draft }: Fields) {
  const flag = (name: keyof Settings) => draft.getInputProps(name, { type: "checkbox" });
  const isFiltered = draft.values["file-triggers-enabled"];
  return (
    <Fieldset legend="What a push starts">
      <Stack gap="sm">
        <Checkbox
          label="Start runs before one was started by hand"
          description="Off, the first push after the workspace was made starts nothing."
          {...flag("queue-all-runs")}
        />
        <Checkbox label="Plan what pull requests would change" {...flag("speculative-enabled")} />
        <Checkbox
          label="Only where certain files change"
          description="Off, every push to the branch starts a run."
          {...flag("file-triggers-enabled")}
        />
        {isFiltered && (
          <>
            <TagsInput
              label="Patterns"
              description="Such as /modules/**/*.tf, each with Enter. Patterns and directories exclude each other: giving patterns empties the directories."
              {...draft.getInputProps("trigger-patterns")}
            />
            <TagsInput
              label="Directories"
              description="Beside the working directory, which always counts."
              disabled={draft.values["trigger-patterns"].length > 0}
              {...draft.getInputProps("trigger-prefixes")}
            />
          </>
        )}
      </Stack>
    </Fieldset>
  );
}

export function AutoDestroyFields({ draft, place: { organization, workspace } }: Placed) {
  const { "inherits-project-auto-destroy": isInherited } = draft.values;
  const project = workspace.relationships.project?.data?.id;
  const { "auto-destroy-activity-duration": duration, "auto-destroy-status": status } = workspace.attributes;
  return (
    <Fieldset legend="Destroyed by itself">
      <Stack gap="sm">
        <Checkbox
          label="As its project says"
          description={duration && isInherited ? `That is after ${duration} without a change.` : undefined}
          {...draft.getInputProps("inherits-project-auto-destroy", { type: "checkbox" })}
        />
        {!isInherited && (
          <Group grow align="flex-start">
            <TextInput
              label="After being inactive for"
              description="Such as 14d or 12h; empty for never."
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...draft.getInputProps("auto-destroy-activity-duration")}
            />
            <TextInput
              type="datetime-local"
              label="At"
              description="In UTC; empty for no fixed time."
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...draft.getInputProps("auto-destroy-at")}
            />
          </Group>
        )}
        <Text c="dimmed" fz="sm">
          A run then destroys what is managed; the workspace itself stays. It must be allowed to be destroyed by a run.
          {status && ` Now: ${status}.`}{" "}
          {project && (
            <Link to={paths.projectSettings(organization, project)} underline="always">
              The project's settings
            </Link>
          )}
        </Text>
      </Stack>
    </Fieldset>
  );
}
