/** Actions on a notification or an audit webhook: enable, disable, test, delete. */
import { Badge, Button, Group, Switch, Text, PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useAction } from "../api/actions.ts";
import { DangerButton } from "../ui/dialog.tsx";
import { Dimmed, When, CodeToCopy } from "../ui/text.tsx";
import { DeliveriesButton, type DeliveryTargetType } from "./log.tsx";
import { useState } from "react";

const deliveryOperations = {
  "notification-configurations": {
    parameter: "notification_configuration_id",
    update: "PATCH /notification-configurations/{notification_configuration_id}",
    verify: "POST /notification-configurations/{notification_configuration_id}/actions/verify",
    remove: "DELETE /notification-configurations/{notification_configuration_id}",
    one: "notification",
  },
  "audit-webhooks": {
    parameter: "audit_webhook_id",
    update: "PATCH /audit-webhooks/{audit_webhook_id}",
    verify: "POST /audit-webhooks/{audit_webhook_id}/actions/verify",
    remove: "DELETE /audit-webhooks/{audit_webhook_id}",
    one: "webhook",
  },
} as const;

type DeliveryOperations = (typeof deliveryOperations)["notification-configurations"];

/** As far as the console uses them, both kinds have the same parameters and responses. */
const operationsOf = (by: DeliveryTargetType): DeliveryOperations => deliveryOperations[by] as DeliveryOperations;

export const nounOf = (by: DeliveryTargetType): string => deliveryOperations[by].one;

interface DeliveryTarget {
  readonly by: DeliveryTargetType;
  readonly id: string;
  readonly name: string;
}

/** The server tests the receiver before it enables it. */
export function EnabledSwitch({ by, id, name, enabled }: DeliveryTarget & { readonly enabled: boolean }) {
  const { update, parameter } = operationsOf(by);
  const change = useAction(update, {
    done: `${enabled ? "Disabled" : "Enabled"} ${name}.`,
  });
  return (
    <Switch
      checked={enabled}
      disabled={change.isPending}
      aria-label={`${name} enabled`}
      onChange={() =>
        change.mutate({
          path: { [parameter]: id },
          body: { data: { type: by as "notification-configurations", attributes: { enabled: !enabled } } },
        })
      }
    />
  );
}

interface DeliveryTargetActionsProps extends DeliveryTarget {
  readonly tried?: string;
  readonly onEdit: () => void;
}

export function DeliveryTargetActions({
  by,
  id,
  name,
  tried = `${name} responded.`,
  onEdit,
}: DeliveryTargetActionsProps) {
  const { verify, remove, parameter, one } = operationsOf(by);
  const path = { [parameter]: id };
  const ask = useAction(verify, { done: tried });
  const end = useAction(remove, { done: `Deleted ${name}.` });
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <DeliveriesButton id={id} name={name} />
      <Button
        variant="subtle"
        size="compact-xs"
        loading={ask.isPending}
        aria-label={`Test ${name}`}
        onClick={() => ask.mutate({ path })}
      >
        Test
      </Button>
      <Button variant="subtle" size="compact-xs" aria-label={`Edit ${name}`} onClick={onEdit}>
        Edit
      </Button>
      <DangerButton
        isQuiet
        verb="Delete"
        label={`Delete ${name}`}
        title={`Delete ${one} ${name}?`}
        isBusy={end.isPending}
        onConfirm={() => end.mutate({ path })}
      >
        Waiting deliveries are dropped.
      </DangerButton>
    </Group>
  );
}

interface Response {
  readonly code: string;
  readonly body: string;
  readonly "sent-at": string;
  readonly successful: string;
}

export function LastAttempt({ responses }: { readonly responses: readonly object[] }) {
  const last = responses[0] as Response | undefined;
  if (last === undefined) return <Dimmed>No deliveries yet</Dimmed>;
  const isFine = last.successful === "true";
  return (
    <Group gap={6} wrap="nowrap" title={last.body.slice(0, 500)}>
      <Badge color={isFine ? "teal" : "red"} miw="fit-content">
        {isFine ? "delivered" : "failed"}
      </Badge>
      <Text span inherit c="dimmed">
        {last.code !== "" && `${last.code}, `}
        <When time={last["sent-at"]} />
      </Text>
    </Group>
  );
}

/** The URL's path may contain a secret. */
export const hostOf = (url: string | null): string =>
  url !== null && URL.canParse(url) ? new URL(url).host : (url ?? "");

interface SigningTokenProps extends Pick<PasswordInputProps, "value" | "error"> {
  readonly onChange: (token: string) => void;
  readonly isKnown: boolean;
}

/** 256 bits, in characters that need no escaping. */
const newToken = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export function SigningToken({ value, error, onChange, isKnown }: SigningTokenProps) {
  const [created, setCreated] = useState<string>();
  const make = () => {
    const token = newToken();
    setCreated(token);
    onChange(token);
  };
  return (
    <>
      <PasswordInput
        label="Signing token"
        description={`Signs request bodies with HMAC. Leave empty to ${isKnown ? "keep the current token" : "send unsigned requests"}.`}
        autoComplete="off"
        value={value}
        error={error}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {created !== undefined && created === value ? (
        <CodeToCopy label="New token" text={created} />
      ) : (
        <Button variant="default" mr="auto" onClick={make}>
          Generate token
        </Button>
      )}
    </>
  );
}
