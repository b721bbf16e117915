/** The form of an identity trust: issuer, audience, claims, and the team that they map to. */
import { Button, Group, Input, Stack, TextInput } from "@mantine/core";
import type { Resource } from "../../api/client.ts";
import { Picker } from "../../components/pickers.tsx";
import { changesIn, useDraft, type FormDraft, CreateOrUpdateForm } from "../../components/forms.tsx";
import { WholeNumberInput } from "../../ui/inputs.tsx";

export type Trust = Resource<"identity-trusts">;

interface TrustFormProps {
  readonly organization: string;
  readonly known: Trust | undefined;
  readonly onClose: () => void;
}

interface IdentityTrustValues {
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly claims: readonly (readonly [string, string])[];
  /** An empty field yields a string, which the server refuses. */
  readonly "token-seconds": number;
  readonly team: string;
}

export function TrustForm({ organization, known, onClose }: TrustFormProps) {
  const attributes = known?.attributes;
  const draft = useDraft<IdentityTrustValues>({
    name: attributes?.name ?? "",
    issuer: attributes?.issuer ?? "",
    audience: attributes?.audience ?? "cadastre",
    claims: Object.entries(attributes?.claims ?? { repository: "" }),
    "token-seconds": attributes?.["token-seconds"] ?? 900,
    team: known?.relationships.team?.data?.id ?? "",
  });
  return (
    <CreateOrUpdateForm
      draft={draft}
      noun="identity trust"
      onClose={onClose}
      make={{
        operation: "POST /organizations/{organization_name}/identity-trusts",
        input: () => {
          const { team, claims, ...rest } = draft.getValues();
          return {
            path: { organization_name: organization },
            body: {
              data: {
                type: "identity-trusts",
                attributes: { ...rest, claims: claimsOf(claims) },
                // The server refuses a trust without a team.
                relationships: team === "" ? undefined! : { team: { data: { type: "teams", id: team } } },
              },
            },
          };
        },
      }}
      save={
        known && {
          operation: "PATCH /identity-trusts/{identity_trust_id}",
          input: () => {
            const { team: _, claims, ...changes } = changesIn(draft);
            const sent = { ...changes, ...(claims && { claims: claimsOf(claims) }) };
            return {
              path: { identity_trust_id: known.id },
              body: { data: { type: "identity-trusts", attributes: sent } },
            };
          },
        }
      }
    >
      <Fields draft={draft} organization={organization} isThere={known !== undefined} />
    </CreateOrUpdateForm>
  );
}

const claimsOf = (claims: IdentityTrustValues["claims"]) =>
  Object.fromEntries(claims.map(([claim, pattern]) => [claim.trim(), pattern]).filter(([claim]) => claim !== ""));

interface TrustFieldsProps {
  readonly draft: FormDraft<IdentityTrustValues>;
  readonly organization: string;
  readonly isThere: boolean;
}

function Fields({ draft, organization, isThere }: TrustFieldsProps) {
  return (
    <>
      <TextInput label="Name" placeholder="deployments" {...draft.getInputProps("name")} data-autofocus />
      <TextInput
        label="Issuer"
        placeholder="https://token.actions.githubusercontent.com"
        description="Must match the token's iss claim exactly."
        {...draft.getInputProps("issuer")}
      />
      <TextInput
        label="Audience"
        description="Must match the token's aud claim."
        {...draft.getInputProps("audience")}
      />
      <ClaimFields draft={draft} />
      {!isThere && (
        <Picker
          kind="teams"
          organization={organization}
          label="Team"
          placeholder="Search teams…"
          value={draft.values.team || undefined}
          onChange={(team) => draft.setFieldValue("team", team ?? "")}
          error={draft.errors["team"]}
        />
      )}
      <WholeNumberInput
        label="Token lifetime, seconds"
        description="From 60 to 3,600. After that, the pipeline exchanges its token again."
        min={60}
        max={3600}
        {...draft.getInputProps("token-seconds")}
      />
    </>
  );
}

function ClaimFields({ draft }: { readonly draft: FormDraft<IdentityTrustValues> }) {
  const { claims } = draft.values;
  const set = (next: IdentityTrustValues["claims"]) => draft.setFieldValue("claims", next);
  const replace = (index: number, pair: readonly [string, string]) => set(claims.with(index, pair));
  return (
    <Input.Wrapper
      label="Required claims"
      labelElement="div"
      description="All of these claims must match. * matches any characters, ? matches one."
      error={draft.errors["claims"]}
      role="group"
      aria-label="Required claims"
    >
      <Stack gap={4} my={4}>
        {claims.map(([claim, pattern], index) => (
          <Group key={index} gap="xs" wrap="nowrap">
            <TextInput
              aria-label={`Claim ${index + 1}`}
              placeholder="repository"
              value={claim}
              onChange={({ currentTarget }) => replace(index, [currentTarget.value, pattern])}
              flex={1}
            />
            <TextInput
              aria-label={`Pattern ${index + 1}`}
              placeholder="acme/*"
              value={pattern}
              onChange={({ currentTarget }) => replace(index, [claim, currentTarget.value])}
              flex={2}
            />
            <Button
              variant="subtle"
              color="gray"
              size="compact-sm"
              aria-label={`Remove claim ${index + 1}`}
              disabled={claims.length === 1}
              onClick={() => set(claims.toSpliced(index, 1))}
            >
              Remove
            </Button>
          </Group>
        ))}
        <Group>
          <Button variant="subtle" size="compact-sm" onClick={() => set([...claims, ["", ""]])}>
            Add claim
          </Button>
        </Group>
      </Stack>
    </Input.Wrapper>
  );
}
