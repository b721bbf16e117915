/** The form that takes an offer: what it gives, why it is needed, and for how long. */
import { Alert, Stack, Text, Textarea } from "@mantine/core";
import { ChangeList } from "../../access/change-text.tsx";
import type { Resource } from "../../api/client.ts";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { DurationInput } from "../../ui/duration-input.tsx";
import { durationsUpTo, durationText } from "../../ui/duration.ts";

export type Offer = Resource<"access-offers">;

export const isBreakGlass = ({ attributes }: Offer): boolean => attributes.approvals === "none";
export const takeVerb = (offer: Offer): string => (isBreakGlass(offer) ? "Break glass" : "Take");

interface TakeFormProps {
  readonly organization: string;
  readonly offer: Offer;
  readonly onClose: () => void;
}

interface TakeValues {
  readonly reason: string;
  readonly "duration-seconds": number | null;
}

export function TakeForm({ organization, offer, onClose }: TakeFormProps) {
  const { name, changes, "duration-seconds-max": max } = offer.attributes;
  const draft = useDraft<TakeValues>({ reason: "", "duration-seconds": max });
  const isImmediate = isBreakGlass(offer);
  const { reason, "duration-seconds": seconds } = draft.values;
  return (
    <OperationForm
      draft={draft}
      operation="POST /access-offers/{access_offer_id}/actions/take"
      done={isImmediate ? `Break-glass access is active: ${name}. All owners are notified.` : `Requested ${name}.`}
      after={onClose}
      verb={isImmediate ? "Break glass" : "Request access"}
      {...(isImmediate && { color: "red" })}
      isReady={reason.trim() !== "" && seconds !== null}
      onCancel={onClose}
      input={(values) => ({
        path: { access_offer_id: offer.id },
        body: {
          data: {
            type: "access-offers",
            attributes: {
              reason: values.reason.trim(),
              ...(values["duration-seconds"] !== null && { "duration-seconds": values["duration-seconds"] }),
            },
          },
        },
      })}
    >
      <Stack gap={4}>
        <Text fw={500}>What you get</Text>
        <ChangeList organization={organization} changes={changes} label="What you get" taker="you" />
      </Stack>
      <Textarea
        label="Reason"
        required
        withAsterisk={false}
        description={isImmediate ? "Sent to all owners and recorded in the audit log." : "Shown to those who approve."}
        inputWrapperOrder={["label", "input", "description", "error"]}
        autosize
        minRows={2}
        maxLength={500}
        data-autofocus
        {...draft.getInputProps("reason")}
      />
      <DurationInput
        label="Duration"
        description={`The access then expires. At most ${durationText(max)}.`}
        choices={durationsUpTo(max)}
        {...draft.getInputProps("duration-seconds")}
      />
      <Alert color={isImmediate ? "red" : "blue"} variant="light" p="xs" role="note">
        {isImmediate
          ? "You get this access immediately, without an approval. All owners are notified."
          : "Someone else must approve before you get this access. The decision appears under Requests."}
      </Alert>
    </OperationForm>
  );
}
