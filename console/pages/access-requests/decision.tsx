/** Approves, denies or withdraws an access request. */
import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useRef, useState } from "react";
import { useAction } from "../../api/actions.ts";
import { ErrorMessage } from "../../components/states.tsx";
import { DangerButton } from "../../ui/dialog.tsx";
import { Section } from "../../ui/page.tsx";
import type { RequestDetails } from "./details.ts";

interface DecisionProps {
  readonly details: RequestDetails;
  /** Access has changed since the effects were computed; nothing was approved. */
  readonly onStale: () => void;
}

export function Decision({ details, onStale }: DecisionProps) {
  const { permissions } = details.request.attributes;
  const canDecide = permissions["can-approve"] || permissions["can-deny"];
  return (
    <Section title="Decision">
      {canDecide ? <DecisionForm details={details} onStale={onStale} /> : <WaitingNotice details={details} />}
    </Section>
  );
}

const WaitingNotice = ({ details: { request, requester } }: Pick<DecisionProps, "details">) => (
  <Text c="dimmed">
    Waiting for approval. People who could make{" "}
    {request.attributes.changes.length === 1 ? "this change" : "these changes"}
    {request.relationships.offer?.data && ", and members of the offer's approver teams,"} can decide. {requester} can't,
    and neither can anyone who gains access.
  </Text>
);

function useDecision({ details: { request, requester }, onStale }: DecisionProps) {
  const at = { path: { access_request_id: request.id } };
  const approval = useAction("POST /access-requests/{access_request_id}/actions/approve", {
    done: `Approved the request of ${requester}.`,
    refusal: "form",
  });
  const denial = useAction("POST /access-requests/{access_request_id}/actions/deny", {
    done: `Denied the request of ${requester}.`,
    refusal: "form",
  });
  const version = request.attributes["access-version"];
  const bodyOf = <A extends object>(attributes: A) => ({ data: { type: "access-requests" as const, attributes } });
  return {
    isPending: approval.isPending || denial.isPending,
    error: approval.error?.isStale ? denial.error : (approval.error ?? denial.error),
    approve: (comment: string) => {
      denial.reset();
      approval.mutate(
        { ...at, body: bodyOf({ "access-version": version, ...(comment !== "" && { comment }) }) },
        { onError: (error) => error.isStale && onStale() },
      );
    },
    deny: (comment: string) => {
      approval.reset();
      denial.mutate({ ...at, body: bodyOf({ comment }) });
    },
  };
}

function DecisionForm(props: DecisionProps) {
  const { permissions } = props.details.request.attributes;
  const { isPending, error, approve, deny } = useDecision(props);
  const [comment, setComment] = useState("");
  const [isMissing, setMissing] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const text = comment.trim();
  const denyWithComment = () => {
    setMissing(text === "");
    if (text === "") field.current?.focus();
    else deny(text);
  };
  return (
    <Stack gap="sm">
      <Textarea
        ref={field}
        label="Comment"
        description="Required to deny. The requester sees it."
        inputWrapperOrder={["label", "input", "description", "error"]}
        maw="46rem"
        autosize
        minRows={2}
        maxLength={500}
        value={comment}
        error={isMissing && text === "" && `Say why, so that ${props.details.requester} knows what to change.`}
        onChange={({ currentTarget }) => setComment(currentTarget.value)}
      />
      {error && <ErrorMessage error={error} title="Request failed" isRequestable={false} />}
      <Group gap="xs">
        {permissions["can-approve"] && (
          <Button loading={isPending} onClick={() => approve(text)}>
            Approve
          </Button>
        )}
        {permissions["can-deny"] && (
          <Button variant="outline" color="red" disabled={isPending} onClick={denyWithComment}>
            Deny
          </Button>
        )}
      </Group>
    </Stack>
  );
}

export function Withdraw({ details: { request } }: Pick<DecisionProps, "details">) {
  const action = useAction("POST /access-requests/{access_request_id}/actions/withdraw", {
    done: "Withdrew the request.",
  });
  return (
    <DangerButton
      verb="Withdraw"
      title="Withdraw this request?"
      isBusy={action.isPending}
      onConfirm={() => action.mutate({ path: { access_request_id: request.id } })}
    >
      Nobody can approve it anymore. To ask again, send a new request.
    </DangerButton>
  );
}
