/** What can be done to a run, with a word to those who read on: confirm, discard, cancel, cancel with force, and pass those that are before it. */
import { Button, Modal, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { Counts } from "./counts.tsx";
import type { RunPlace } from "./place.ts";

const deeds = {
  apply: {
    operation: "POST /runs/{run_id}/actions/apply",
    verb: "Confirm and apply",
    done: "Confirmed; the apply is queued.",
    color: undefined,
    about: "What the plan shows is carried out.",
  },
  discard: {
    operation: "POST /runs/{run_id}/actions/discard",
    verb: "Discard",
    done: "Discarded the run.",
    color: "red",
    about: "The plan is given up, and the next run may begin. Nothing is changed.",
  },
  cancel: {
    operation: "POST /runs/{run_id}/actions/cancel",
    verb: "Cancel run",
    done: "The run is told to stop.",
    color: "red",
    about: "The engine is asked to stop, and ends what it has begun. What an apply has done until then stays done.",
  },
  "force-cancel": {
    operation: "POST /runs/{run_id}/actions/force-cancel",
    verb: "Force cancel",
    done: "Canceled the run with force.",
    color: "red",
    about:
      "The engine is ended at once and the workspace is free. Resources that it was making may be there without being in the state.",
  },
  "force-execute": {
    operation: "POST /runs/{run_id}/actions/force-execute",
    verb: "Put first",
    done: "The run is next; what was before it is discarded.",
    color: "red",
    about:
      "The run that holds the workspace and all that wait before this one are discarded. That goes while the one that holds it waits to be confirmed; while it is executed, it has to be canceled first.",
  },
} as const;

type Deed = keyof typeof deeds;

export function RunActions({ place }: { readonly place: RunPlace }) {
  const [deed, setDeed] = useState<Deed>();
  const { status, actions: can, permissions: may } = place.run.attributes;
  const offered: Deed[] = [
    ...(status === "pending" && may["can-force-execute"] ? ["force-execute" as const] : []),
    ...(can["is-discardable"] && may["can-discard"] ? ["discard" as const] : []),
    ...(can["is-cancelable"] && may["can-cancel"] ? ["cancel" as const] : []),
    ...(can["is-force-cancelable"] && may["can-force-cancel"] ? ["force-cancel" as const] : []),
    ...(can["is-confirmable"] && may["can-apply"] ? ["apply" as const] : []),
  ];
  return (
    <>
      {offered.map((each) => (
        <Button key={each} variant={each === "apply" ? "filled" : "default"} onClick={() => setDeed(each)}>
          {deeds[each].verb}
        </Button>
      ))}
      <Modal
        opened={deed !== undefined}
        onClose={() => setDeed(undefined)}
        title={deed && deeds[deed].verb}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {deed && <DeedForm place={place} deed={deed} onClose={() => setDeed(undefined)} />}
      </Modal>
    </>
  );
}

interface DeedFormProps {
  readonly place: RunPlace;
  readonly deed: Deed;
  readonly onClose: () => void;
}

function DeedForm({ place: { run, plan, name }, deed, onClose }: DeedFormProps) {
  const { operation, verb, done, about, color } = deeds[deed];
  const draft = useDraft({ comment: "" });
  const action = useAction(operation, { done, after: onClose, refusal: "form" });
  return (
    <ActionForm
      draft={draft}
      action={action}
      input={({ comment }) => ({ path: { run_id: run.id }, body: comment.trim() === "" ? {} : { comment } })}
      verb={verb}
      {...(color && { color })}
      onCancel={onClose}
    >
      <Text>
        {about} {deed === "apply" && <>In {name}: </>}
        {deed === "apply" && <Counts phase={plan} />}
      </Text>
      <Textarea
        label="Comment"
        description="Stays with the run; may be left empty."
        autosize
        minRows={2}
        data-autofocus
        {...draft.getInputProps("comment")}
      />
    </ActionForm>
  );
}
