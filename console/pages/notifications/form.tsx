/** One form to create or edit a notification. The server tests a URL before it is enabled. */
import { Checkbox, Select, SimpleGrid, Switch, TagsInput, TextInput } from "@mantine/core";
import type { OperationInput } from "../../api/client.ts";
import { changesIn, useDraft, type FormDraft, CreateOrUpdateForm } from "../../components/forms.tsx";
import { SigningToken } from "../../deliveries/targets.tsx";
import {
  type Destination,
  destinations,
  type Notification,
  type NotificationSubject,
  type Trigger,
  triggersFor,
  usualTriggers,
} from "./words.ts";

interface NotificationFormProps {
  readonly subject: NotificationSubject;
  readonly known: Notification | undefined;
  readonly onClose: () => void;
}

interface NotificationValues {
  readonly name: string;
  readonly "destination-type": Destination;
  readonly url: string;
  readonly token: string;
  readonly "email-addresses": string[];
  readonly triggers: Trigger[];
  readonly enabled: boolean;
}

export function NotificationForm({ subject, known, onClose }: NotificationFormProps) {
  const attributes = known?.attributes;
  const draft = useDraft<NotificationValues>({
    name: attributes?.name ?? "",
    "destination-type": attributes?.["destination-type"] ?? "generic",
    url: attributes?.url ?? "",
    token: "",
    "email-addresses": [...(attributes?.["email-addresses"] ?? [])],
    triggers: [...(attributes?.triggers ?? usualTriggers)],
    enabled: attributes?.enabled ?? true,
  });
  return (
    <CreateOrUpdateForm
      draft={draft}
      noun="notification"
      onClose={onClose}
      make={creationOf(subject, () => ({
        data: { type: "notification-configurations", attributes: sentOf(draft.getValues()) },
      }))}
      save={
        known && {
          operation: "PATCH /notification-configurations/{notification_configuration_id}",
          input: () => ({
            path: { notification_configuration_id: known.id },
            body: { data: { type: "notification-configurations", ...changed(draft, known) } },
          }),
        }
      }
    >
      <Fields draft={draft} known={known} kind={subject.kind} />
    </CreateOrUpdateForm>
  );
}

type Creation = "POST /teams/{team_id}/notification-configurations";

function creationOf({ kind, id }: NotificationSubject, body: () => OperationInput<Creation>["body"]) {
  if (kind === "workspace")
    return {
      operation: "POST /workspaces/{workspace_id}/notification-configurations",
      input: () => ({ path: { workspace_id: id }, body: body() }),
    } as const;
  if (kind === "project")
    return {
      operation: "POST /projects/{project_id}/notification-configurations",
      input: () => ({ path: { project_id: id }, body: body() }),
    } as const;
  return {
    operation: "POST /teams/{team_id}/notification-configurations",
    input: () => ({ path: { team_id: id }, body: body() }),
  } as const;
}

function sentOf({ url, token, "email-addresses": addresses, ...rest }: NotificationValues) {
  if (rest["destination-type"] === "email") return { ...rest, "email-addresses": addresses };
  return { ...rest, url, ...(rest["destination-type"] === "generic" && token !== "" && { token }) };
}

/** Without its recipients, a change of an email notification would remove them. */
function changed(draft: FormDraft<NotificationValues>, { attributes, relationships }: Notification) {
  const changes = changesIn(draft);
  const users = relationships.users?.data ?? [];
  return {
    attributes: changes,
    ...(attributes["destination-type"] === "email" &&
      users.length > 0 && { relationships: { users: { data: users } } }),
  };
}

function Fields({
  draft,
  known,
  kind,
}: {
  readonly draft: FormDraft<NotificationValues>;
  readonly known: Notification | undefined;
  readonly kind: NotificationSubject["kind"];
}) {
  const type = draft.values["destination-type"];
  return (
    <>
      <TextInput label="Name" placeholder="Deployments" {...draft.getInputProps("name")} data-autofocus />
      {!known && (
        <Select
          label="Destination"
          data={[...destinations]}
          allowDeselect={false}
          {...draft.getInputProps("destination-type")}
        />
      )}
      {type === "email" ? (
        <TagsInput
          label="Email addresses"
          description="Press Enter after each. For a team, leave empty to notify all members."
          {...draft.getInputProps("email-addresses")}
        />
      ) : (
        <TextInput
          label="URL"
          placeholder={type === "slack" ? "https://hooks.slack.com/services/…" : "https://hooks.example/terraform"}
          description="Stored encrypted. A test request must succeed before the notification is enabled."
          {...draft.getInputProps("url")}
        />
      )}
      {type === "generic" && <SigningToken isKnown={known !== undefined} {...draft.getInputProps("token")} />}
      <Checkbox.Group label="Events" {...draft.getInputProps("triggers")}>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={6} mt={6}>
          {triggersFor(kind).map(({ value, label }) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
      <Switch label="Enabled" {...draft.getInputProps("enabled", { type: "checkbox" })} />
    </>
  );
}
