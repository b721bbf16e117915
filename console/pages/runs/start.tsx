/** Starting a run: what it shall do, why, and what is seldom asked for. */
import { Alert, Button, Checkbox, Collapse, Modal, Select, TagsInput, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useAction } from "../../api/actions.ts";
import type { Input } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useOpened } from "../../ui/address.ts";
import { ActionForm, useDraft, type Draft } from "../../ui/form.tsx";
import { useGo } from "../../ui/link.tsx";
import type { Place } from "../workspace/place.ts";

export function StartRun({ place }: { readonly place: Place }) {
  const [opened, { open, close }] = useOpened("start-run");
  const { permissions: may, "execution-mode": mode, name } = place.workspace.attributes;
  // Where it is executed elsewhere, whoever works there begins runs there.
  if (!may["can-queue-run"] || mode === "local") return null;
  return (
    <>
      <Button leftSection={<IconPlayerPlay size={14} />} onClick={open}>
        Start run
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={`Start a run in ${name}`}
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <StartForm place={place} onCancel={close} />
      </Modal>
    </>
  );
}

type Kind = "apply" | "plan" | "refresh" | "destroy" | "empty" | "save";

interface Wishes {
  readonly kind: Kind;
  readonly message: string;
  readonly "auto-apply": boolean;
  readonly "target-addrs": string[];
  readonly "replace-addrs": string[];
  readonly refresh: boolean;
  readonly "debugging-mode": boolean;
}

const told: Record<Kind, { readonly label: string; readonly about: string; readonly attributes: object }> = {
  apply: {
    label: "Plan and apply",
    about: "Plans, and waits for somebody to confirm the changes.",
    attributes: {},
  },
  plan: {
    label: "Plan only",
    about: "Shows what would change. It can't be applied, and needs no lock.",
    attributes: { "plan-only": true },
  },
  refresh: {
    label: "Refresh the state",
    about: "Takes over how things really are, and changes none of them.",
    attributes: { "refresh-only": true },
  },
  save: {
    label: "Plan and keep the plan",
    about: "The plan waits without the workspace's lock until somebody confirms it, or the state moves on.",
    attributes: { "save-plan": true },
  },
  empty: {
    label: "Apply without changes",
    about: "Applies also where nothing is to change, as an upgrade of the engine may want.",
    attributes: { "allow-empty-apply": true },
  },
  destroy: {
    label: "Destroy everything",
    about: "Plans to destroy all that the workspace manages.",
    attributes: { "is-destroy": true },
  },
};

function StartForm({ place, onCancel }: { readonly place: Place; readonly onCancel: () => void }) {
  const { organization, workspace } = place;
  const {
    permissions: may,
    name,
    "auto-apply": isApplying,
    "allow-destroy-plan": isDestroyable,
  } = workspace.attributes;
  const go = useGo();
  const [isMore, { toggle }] = useDisclosure();
  const draft = useDraft<Wishes>({
    kind: "apply",
    message: "",
    "auto-apply": isApplying,
    "target-addrs": [],
    "replace-addrs": [],
    refresh: true,
    "debugging-mode": false,
  });
  const { kind, "auto-apply": autoApply } = draft.values;
  const action = useAction("POST /runs", {
    done: "Started the run.",
    after: ({ data }) => go(paths.run(organization, name, data.id)),
    refusal: "form",
  });
  const offered = (Object.keys(told) as Kind[]).filter(
    (each) => each !== "destroy" || (may["can-queue-destroy"] && isDestroyable),
  );
  return (
    <ActionForm
      draft={draft}
      action={action}
      input={(values) => bodyOf(workspace.id, values)}
      verb={kind === "destroy" ? "Plan to destroy" : "Start run"}
      {...(kind === "destroy" && { color: "red" })}
      onCancel={onCancel}
    >
      <Select
        label="What it does"
        description={told[kind].about}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={offered.map((value) => ({ value, label: told[value].label }))}
        {...draft.getInputProps("kind")}
      />
      {kind === "destroy" && autoApply && (
        <Alert color="red" role="note">
          It destroys without asking again, because it is applied without asking.
        </Alert>
      )}
      <Textarea
        label="Message"
        description="Why, for those who read the list of runs."
        autosize
        minRows={2}
        data-autofocus
        {...draft.getInputProps("message")}
      />
      {kind !== "plan" && may["can-queue-apply"] && (
        <Checkbox
          label="Apply without asking, where the plan succeeds"
          {...draft.getInputProps("auto-apply", { type: "checkbox" })}
        />
      )}
      <Button variant="subtle" color="gray" w="fit-content" px={0} onClick={toggle} aria-expanded={isMore}>
        {isMore ? "Less" : "More: single resources, replacing, without refresh"}
      </Button>
      <Collapse expanded={isMore}>
        <More draft={draft} />
      </Collapse>
    </ActionForm>
  );
}

function More({ draft }: { readonly draft: Draft<Wishes> }) {
  return (
    <>
      <TagsInput
        label="Only these resources"
        description="Addresses, each with Enter; with what they depend on. All of them where none is named."
        placeholder="aws_instance.web"
        splitChars={[","]}
        {...draft.getInputProps("target-addrs")}
      />
      <TagsInput
        mt="sm"
        label="Replace these resources"
        description="Destroyed and made again, also where nothing about them changes."
        placeholder="aws_instance.web"
        splitChars={[","]}
        {...draft.getInputProps("replace-addrs")}
      />
      <Checkbox
        mt="sm"
        label="Look how things really are before planning"
        {...draft.getInputProps("refresh", { type: "checkbox" })}
      />
      <Checkbox
        mt="xs"
        label="Have the engine tell all that it does in its log"
        {...draft.getInputProps("debugging-mode", { type: "checkbox" })}
      />
    </>
  );
}

function bodyOf(workspaceId: string, { kind, message, refresh, ...wishes }: Wishes): Input<"POST /runs"> {
  const some = (addresses: string[]) => (addresses.length === 0 ? null : addresses);
  return {
    body: {
      data: {
        type: "runs",
        attributes: {
          ...told[kind].attributes,
          message: message.trim() === "" ? "Started in the console" : message,
          "debugging-mode": wishes["debugging-mode"],
          "target-addrs": some(wishes["target-addrs"]),
          "replace-addrs": some(wishes["replace-addrs"]),
          ...(kind === "plan" ? {} : { "auto-apply": wishes["auto-apply"] }),
          ...(refresh ? {} : { refresh }),
        },
        relationships: { workspace: { data: { type: "workspaces", id: workspaceId } } },
      },
    },
  };
}
