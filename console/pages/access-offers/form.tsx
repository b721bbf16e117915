/** The form of an offer: what it gives, to which teams, for how long, and who approves. */
import { Radio, Stack, Switch, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { accessOffer } from "../../api/detail-queries.ts";
import { changesIn, OperationForm, useDraft, type FormDraft } from "../../components/forms.tsx";
import { paths } from "../../paths.ts";
import { DurationInput } from "../../ui/duration-input.tsx";
import { useGo } from "../../ui/link.tsx";
import { ChangesInput, type OfferedChange } from "./changes-input.tsx";
import type { Offer } from "./take.tsx";
import { TeamsInput } from "./teams-input.tsx";

interface OfferValues {
  readonly name: string;
  readonly description: string;
  readonly changes: readonly OfferedChange[];
  /** An empty field yields null, which the server refuses. */
  readonly "duration-seconds-max": number;
  readonly approvals: "none" | "one";
  readonly enabled: boolean;
  readonly "eligible-teams": readonly string[];
  readonly "approver-teams": readonly string[];
}

const hour = 3600;
const create = "POST /organizations/{organization_name}/access-offers";
const update = "PATCH /access-offers/{access_offer_id}";

interface OfferFormProps {
  readonly organization: string;
  readonly known?: { readonly data: Offer; readonly etag?: string | undefined };
}

const idsIn = (teams: { readonly data?: readonly { readonly id: string }[] } | undefined) =>
  (teams?.data ?? []).map(({ id }) => id);

export function OfferForm({ organization, known }: OfferFormProps) {
  const go = useGo();
  const client = useQueryClient();
  const offer = known?.data;
  const attributes = offer?.attributes;
  const draft = useDraft<OfferValues>({
    name: attributes?.name ?? "",
    description: attributes?.description ?? "",
    changes: attributes?.changes ?? [],
    "duration-seconds-max": attributes?.["duration-seconds-max"] ?? hour,
    approvals: attributes?.approvals ?? "one",
    enabled: attributes?.enabled ?? true,
    "eligible-teams": idsIn(offer?.relationships["eligible-teams"]),
    "approver-teams": idsIn(offer?.relationships["approver-teams"]),
  });
  const back = () => go(paths.accessOffers(organization));
  const shared = { draft, after: back, onCancel: back };
  const fields = <OfferFields organization={organization} draft={draft} />;
  if (!offer)
    return (
      <OperationForm
        {...shared}
        operation={create}
        done={`Created offer ${draft.values.name}.`}
        verb="Create offer"
        input={(values) => ({ path: { organization_name: organization }, body: { data: creationOf(values) } })}
      >
        {fields}
      </OperationForm>
    );
  return (
    <OperationForm
      {...shared}
      operation={update}
      done={`Saved offer ${draft.values.name}.`}
      verb="Save"
      // Without `isReady`: saving an unchanged offer makes it act with the permissions of the caller.
      etag={known?.etag}
      reload={async () => (await client.fetchQuery({ ...accessOffer(offer.id), staleTime: 0 })).etag}
      input={(_, ifMatch) => ({
        path: { access_offer_id: offer.id },
        ifMatch,
        body: { data: updateOf(changesIn(draft)) },
      })}
    >
      {fields}
    </OperationForm>
  );
}

const teamsOf = (ids: readonly string[]) => ({ data: ids.map((id) => ({ type: "teams" as const, id })) });

const creationOf = (values: OfferValues) => {
  const { "eligible-teams": eligible, "approver-teams": approvers, description, ...attributes } = values;
  return {
    type: "access-offers" as const,
    attributes: { ...attributes, description: description.trim() || null },
    relationships: { "eligible-teams": teamsOf(eligible), "approver-teams": teamsOf(approvers) },
  };
};

/** Only what was changed. */
const updateOf = (values: Partial<OfferValues>) => {
  const { "eligible-teams": eligible, "approver-teams": approvers, description, ...attributes } = values;
  return {
    type: "access-offers" as const,
    attributes: { ...attributes, ...(description !== undefined && { description: description.trim() || null }) },
    relationships: {
      ...(eligible && { "eligible-teams": teamsOf(eligible) }),
      ...(approvers && { "approver-teams": teamsOf(approvers) }),
    },
  };
};

interface OfferFieldsProps {
  readonly organization: string;
  readonly draft: FormDraft<OfferValues>;
}

function OfferFields({ organization, draft }: OfferFieldsProps) {
  return (
    <>
      <TextInput label="Name" placeholder="Payments on call" {...draft.getInputProps("name")} />
      <Textarea label="Description" autosize minRows={1} {...draft.getInputProps("description")} />
      <ChangesInput organization={organization} {...draft.getInputProps("changes")} />
      <TeamsInput
        label="Eligible teams"
        description="Their members can take this offer."
        organization={organization}
        {...draft.getInputProps("eligible-teams")}
      />
      <Radio.Group label="Approval" {...draft.getInputProps("approvals")}>
        <Stack gap="xs" mt={4}>
          <Radio
            value="one"
            label="One approval"
            description="Someone else must approve: anybody who can make the changes, or a member of an approver team."
          />
          <Radio
            value="none"
            label="None: break glass"
            description="The access is given immediately, and all owners are notified."
          />
        </Stack>
      </Radio.Group>
      {draft.values.approvals === "one" && (
        <TeamsInput
          label="Approver teams"
          description="Optional. Their members can approve without permission to make the changes themselves."
          organization={organization}
          {...draft.getInputProps("approver-teams")}
        />
      )}
      <DurationInput
        label="Maximum duration"
        description="The access expires after this time at the latest. From 5 minutes to 1 week."
        {...draft.getInputProps("duration-seconds-max")}
      />
      <Switch label="Enabled" {...draft.getInputProps("enabled", { type: "checkbox" })} />
    </>
  );
}
