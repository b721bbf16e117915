/** The actions on a run, each with an optional comment: confirm, discard, cancel, force-cancel, and execute next. */
import { Button, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { CountsInWords } from "./counts.tsx";
import type { RunDetails } from "./status-line.tsx";

const runActions = {
  apply: {
    operation: "POST /runs/{run_id}/actions/apply",
    verb: "Confirm & apply",
    done: "Plan confirmed. The apply is queued.",
    color: undefined,
    about: "",
  },
  discard: {
    operation: "POST /runs/{run_id}/actions/discard",
    verb: "Discard",
    done: "Run discarded.",
    color: "red",
    about: "The next run can start. Nothing is changed.",
  },
  cancel: {
    operation: "POST /runs/{run_id}/actions/cancel",
    verb: "Cancel run",
    done: "Cancel requested.",
    color: "red",
    about:
      "Terraform or OpenTofu finishes the operations in progress and stops. Changes that an apply has already made stay.",
  },
  "force-cancel": {
    operation: "POST /runs/{run_id}/actions/force-cancel",
    verb: "Force cancel",
    done: "Run force-canceled.",
    color: "red",
    about:
      "Stops the run immediately and unlocks the workspace. Resources that were being created can exist without being in the state.",
  },
  "force-execute": {
    operation: "POST /runs/{run_id}/actions/force-execute",
    verb: "Run next",
    done: "This run is next. The runs before it were discarded.",
    color: "red",
    about:
      "Discards the run that holds the workspace and all runs queued before this one. If that run is planning or applying, cancel it first.",
  },
} as const;

type RunActionName = keyof typeof runActions;

function titleOf(action: RunActionName, { name }: RunDetails): string {
  if (action === "apply") return `Apply to ${name}?`;
  return action === "discard" ? "Discard this plan?" : runActions[action].verb;
}

export function RunActions({ details }: { readonly details: RunDetails }) {
  const [action, setAction] = useState<RunActionName>();
  const { status, actions: can, permissions: may } = details.run.attributes;
  const offered: RunActionName[] = [
    ...(status === "pending" && may["can-force-execute"] ? ["force-execute" as const] : []),
    ...(can["is-discardable"] && may["can-discard"] ? ["discard" as const] : []),
    ...(can["is-cancelable"] && may["can-cancel"] ? ["cancel" as const] : []),
    ...(can["is-force-cancelable"] && may["can-force-cancel"] ? ["force-cancel" as const] : []),
    ...(can["is-confirmable"] && may["can-apply"] ? ["apply" as const] : []),
  ];
  return (
    <>
      {offered.map((each) => (
        <Button key={each} variant={each === "apply" ? "filled" : "default"} onClick={() => setAction(each)}>
          {runActions[each].verb}
        </Button>
      ))}
      <FormDialog
        opened={action !== undefined}
        onClose={() => setAction(undefined)}
        title={action ? titleOf(action, details) : ""}
      >
        {action && <RunActionForm details={details} action={action} onClose={() => setAction(undefined)} />}
      </FormDialog>
    </>
  );
}

interface RunActionFormProps {
  readonly details: RunDetails;
  readonly action: RunActionName;
  readonly onClose: () => void;
}

function RunActionForm({ details: { run, plan }, action, onClose }: RunActionFormProps) {
  const { operation, verb, done, about, color } = runActions[action];
  const draft = useDraft({ comment: "" });
  return (
    <OperationForm
      draft={draft}
      operation={operation}
      done={done}
      after={onClose}
      input={({ comment }) => ({ path: { run_id: run.id }, body: comment.trim() === "" ? {} : { comment } })}
      verb={verb}
      {...(color && { color })}
      onCancel={onClose}
    >
      <Text>
        {action === "apply" ? (
          <>
            <CountsInWords phase={plan} />.
          </>
        ) : (
          about
        )}
      </Text>
      <Textarea
        label="Comment"
        description="Optional. Shown in the timeline."
        autosize
        minRows={2}
        data-autofocus
        {...draft.getInputProps("comment")}
      />
    </OperationForm>
  );
}
