/** One form to create or edit an audit webhook. The server tests a URL before it is enabled. */
import { Checkbox, Stack, Switch, TagsInput, TextInput } from "@mantine/core";
import { changesIn, useDraft, type FormDraft, CreateOrUpdateForm } from "../../components/forms.tsx";
import { SigningToken } from "../../deliveries/targets.tsx";
import type { Resource } from "../../api/client.ts";
import { auditedActions, subjectTypes } from "../audit/actions.ts";

interface WebhookFormProps {
  readonly organization: string;
  readonly known: Webhook | undefined;
  readonly onClose: () => void;
}

interface AuditWebhookValues {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly events: readonly string[];
  readonly "lock-held-longer-than": string;
  readonly enabled: boolean;
}

export function WebhookForm({ organization, known, onClose }: WebhookFormProps) {
  const attributes = known?.attributes;
  const draft = useDraft<AuditWebhookValues>({
    name: attributes?.name ?? "",
    url: attributes?.url ?? "",
    token: "",
    events: attributes?.events ?? ["access.changed", lockHeld],
    "lock-held-longer-than": attributes?.["lock-held-longer-than"] ?? "24h",
    enabled: attributes?.enabled ?? true,
  });
  return (
    <CreateOrUpdateForm
      draft={draft}
      noun="webhook"
      onClose={onClose}
      make={{
        operation: "POST /organizations/{organization_name}/audit-webhooks",
        input: () => {
          const { token, ...rest } = draft.getValues();
          return {
            path: { organization_name: organization },
            body: { data: { type: "audit-webhooks", attributes: { ...rest, ...(token !== "" && { token }) } } },
          };
        },
      }}
      save={
        known && {
          operation: "PATCH /audit-webhooks/{audit_webhook_id}",
          input: () => ({
            path: { audit_webhook_id: known.id },
            body: { data: { type: "audit-webhooks", attributes: changesIn(draft) } },
          }),
        }
      }
    >
      <Fields draft={draft} isKnown={known !== undefined} />
    </CreateOrUpdateForm>
  );
}

function Fields({ draft, isKnown }: { readonly draft: FormDraft<AuditWebhookValues>; readonly isKnown: boolean }) {
  const { events } = draft.values;
  const others = othersOf(events);
  const chosen = events.filter((event) => !others.includes(event));
  return (
    <>
      <TextInput label="Name" placeholder="security" {...draft.getInputProps("name")} data-autofocus />
      <TextInput
        label="URL"
        placeholder="https://siem.example/cadastre"
        description="Stored encrypted. A test request must succeed before the webhook is enabled."
        {...draft.getInputProps("url")}
      />
      <SigningToken isKnown={isKnown} {...draft.getInputProps("token")} />
      <Checkbox.Group
        label="Events"
        value={[...chosen]}
        onChange={(value) => draft.setFieldValue("events", [...value, ...others])}
        error={draft.errors["events"]}
      >
        <Stack gap={6} mt={6}>
          {usualEvents.map(({ value, label, about }) => (
            <Checkbox key={value} value={value} label={label} description={about} />
          ))}
        </Stack>
      </Checkbox.Group>
      {events.includes(lockHeld) && (
        <TextInput
          label="Report locks held longer than"
          placeholder="24h"
          description="Hours or days, for example 36h or 2d."
          w={260}
          {...draft.getInputProps("lock-held-longer-than")}
        />
      )}
      <TagsInput
        label="Other events"
        description="Audit log actions such as workspaces.force-unlock, or all of a type such as workspaces.*"
        data={[...otherChoices]}
        limit={40}
        value={others}
        onChange={(value) => draft.setFieldValue("events", [...chosen, ...value])}
      />
      <Switch label="Enabled" {...draft.getInputProps("enabled", { type: "checkbox" })} />
    </>
  );
}

export type Webhook = Resource<"audit-webhooks">;

export const lockHeld = "lock.held";

export const usualEvents: readonly { readonly value: string; readonly label: string; readonly about: string }[] = [
  {
    value: "access.changed",
    label: "Access changes",
    about: "Access grants, teams and their members, memberships, tokens, identity trusts, moves",
  },
  { value: lockHeld, label: "Long-held locks", about: "Locks held by a person or a team; sent once per lock" },
  { value: "*", label: "All events", about: "Every change in the audit log" },
];

const isUsual = (event: string): boolean => usualEvents.some(({ value }) => value === event);
export const othersOf = (events: readonly string[]): string[] => events.filter((event) => !isUsual(event));

export const otherChoices: readonly string[] = [...subjectTypes.map((type) => `${type}.*`), ...auditedActions];

export function wordsOf(events: readonly string[]): string {
  const words = events.map((event) => usualEvents.find(({ value }) => value === event)?.label ?? event);
  return words.length <= 3 ? words.join(", ") : `${words.slice(0, 2).join(", ")} and ${words.length - 2} more`;
}
