/** Starts a run: type, message, and advanced options. */
import { Alert, Button, Checkbox, Collapse, Select, TagsInput, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerPlay } from "@tabler/icons-react";
import type { OperationInput } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useClearedDialog, useOpened } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft, type FormDraft } from "../../components/forms.tsx";
import { useGo } from "../../ui/link.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";

export function StartRun({ details }: { readonly details: WorkspaceDetails }) {
  const [opened, { open, close }] = useOpened("start-run");
  const { permissions: may, "execution-mode": mode, name } = details.workspace.attributes;
  // In local mode, runs start on the user's machine.
  const isOffered = may["can-queue-run"] && mode !== "local";
  useClearedDialog("start-run", !isOffered);
  if (!isOffered) return null;
  return (
    <>
      <Button leftSection={<IconPlayerPlay size={14} />} onClick={open}>
        Start run
      </Button>
      <FormDialog opened={opened} onClose={close} title={`Start a run in ${name}`}>
        <StartForm details={details} onClose={close} />
      </FormDialog>
    </>
  );
}

type StartableRunType = "apply" | "plan" | "refresh" | "destroy" | "empty" | "save";

interface RunDraft {
  readonly kind: StartableRunType;
  readonly message: string;
  readonly "auto-apply": boolean;
  readonly "target-addrs": string[];
  readonly "replace-addrs": string[];
  readonly refresh: boolean;
  readonly "debugging-mode": boolean;
}

const runTypes: Record<
  StartableRunType,
  { readonly label: string; readonly about: string; readonly attributes: object }
> = {
  apply: {
    label: "Plan and apply",
    about: "Plans, then waits for confirmation before applying.",
    attributes: {},
  },
  plan: {
    label: "Plan only",
    about: "Shows what would change. It can't be applied and doesn't need the lock.",
    attributes: { "plan-only": true },
  },
  refresh: {
    label: "Refresh only",
    about: "Updates the state to match the real infrastructure. Changes no infrastructure.",
    attributes: { "refresh-only": true },
  },
  save: {
    label: "Save plan",
    about: "Keeps the plan for later without holding the lock. It can be applied until the state changes.",
    attributes: { "save-plan": true },
  },
  empty: {
    label: "Empty apply",
    about: "Applies even if the plan has no changes, for example after a Terraform upgrade.",
    attributes: { "allow-empty-apply": true },
  },
  destroy: {
    label: "Destroy",
    about: "Plans to destroy all resources in this workspace.",
    attributes: { "is-destroy": true },
  },
};

function StartForm({ details, onClose }: { readonly details: WorkspaceDetails; readonly onClose: () => void }) {
  const { organization, workspace } = details;
  const {
    permissions: may,
    name,
    "auto-apply": isApplying,
    "allow-destroy-plan": isDestroyable,
  } = workspace.attributes;
  const go = useGo();
  const [isMore, { toggle }] = useDisclosure();
  const draft = useDraft<RunDraft>({
    kind: "apply",
    message: "",
    "auto-apply": isApplying,
    "target-addrs": [],
    "replace-addrs": [],
    refresh: true,
    "debugging-mode": false,
  });
  const { kind, "auto-apply": autoApply } = draft.values;
  const offered = (Object.keys(runTypes) as StartableRunType[]).filter(
    (each) => each !== "destroy" || (may["can-queue-destroy"] && isDestroyable),
  );
  return (
    <OperationForm
      draft={draft}
      operation="POST /runs"
      done="Run started."
      after={({ data }) => {
        onClose();
        go(paths.run(organization, name, data.id));
      }}
      input={(values) => bodyOf(workspace.id, values)}
      verb={kind === "destroy" ? "Plan to destroy" : "Start run"}
      {...(kind === "destroy" && { color: "red" })}
      onCancel={onClose}
    >
      <Select
        label="Run type"
        description={runTypes[kind].about}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={offered.map((value) => ({ value, label: runTypes[value].label }))}
        {...draft.getInputProps("kind")}
      />
      {kind === "destroy" && autoApply && (
        <Alert color="red" role="note">
          Resources are destroyed without confirmation, because auto-apply is on.
        </Alert>
      )}
      <Textarea
        label="Message"
        description="Shown in the list of runs."
        autosize
        minRows={2}
        data-autofocus
        {...draft.getInputProps("message")}
      />
      {kind !== "plan" && may["can-queue-apply"] && (
        <Checkbox
          label="Auto-apply: apply without confirmation if the plan succeeds"
          {...draft.getInputProps("auto-apply", { type: "checkbox" })}
        />
      )}
      <Button variant="subtle" color="gray" w="fit-content" px={0} onClick={toggle} aria-expanded={isMore}>
        {isMore ? "Fewer options" : "More options: targets, replacements, refresh, debug log"}
      </Button>
      <Collapse expanded={isMore}>
        <More draft={draft} />
      </Collapse>
    </OperationForm>
  );
}

function More({ draft }: { readonly draft: FormDraft<RunDraft> }) {
  return (
    <>
      <TagsInput
        label="Targets"
        description="Resource addresses. Press Enter after each. Their dependencies are included. Leave empty for all resources."
        placeholder="aws_instance.web"
        splitChars={[","]}
        {...draft.getInputProps("target-addrs")}
      />
      <TagsInput
        mt="sm"
        label="Replace these resources"
        description="Resource addresses to destroy and create again, even if nothing about them changes."
        placeholder="aws_instance.web"
        splitChars={[","]}
        {...draft.getInputProps("replace-addrs")}
      />
      <Checkbox
        mt="sm"
        label="Refresh the state before planning"
        {...draft.getInputProps("refresh", { type: "checkbox" })}
      />
      <Checkbox mt="xs" label="Debug logging" {...draft.getInputProps("debugging-mode", { type: "checkbox" })} />
    </>
  );
}

function bodyOf(workspaceId: string, { kind, message, refresh, ...options }: RunDraft): OperationInput<"POST /runs"> {
  const some = (addresses: string[]) => (addresses.length === 0 ? null : addresses);
  return {
    body: {
      data: {
        type: "runs",
        attributes: {
          ...runTypes[kind].attributes,
          message: message.trim() === "" ? "Started in the console" : message,
          "debugging-mode": options["debugging-mode"],
          "target-addrs": some(options["target-addrs"]),
          "replace-addrs": some(options["replace-addrs"]),
          ...(kind === "plan" ? {} : { "auto-apply": options["auto-apply"] }),
          ...(refresh ? {} : { refresh }),
        },
        relationships: { workspace: { data: { type: "workspaces", id: workspaceId } } },
      },
    },
  };
}
