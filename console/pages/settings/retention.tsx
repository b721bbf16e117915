/** The retention of old states and configurations. */
import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { apiQuery, organization as organizationQuery } from "../../api/queries.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { OperationForm, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { counted } from "../../ui/text.tsx";
import { WholeNumberInput } from "../../ui/inputs.tsx";

interface RetentionProps {
  readonly organization: string;
  readonly canUpdate: boolean;
}

export function Retention({ organization, canUpdate }: RetentionProps) {
  const path = { organization_name: organization };
  const known = useQuery(organizationQuery(organization)).data?.data;
  // The server would respond 404, which browsers log.
  const isNone = known !== undefined && !known.relationships["data-retention-policy"]?.data;
  const query = useQuery({
    ...apiQuery("GET /organizations/{organization_name}/relationships/data-retention-policy", { path }),
    enabled: known !== undefined && !isNone,
  });
  const policy = (isNone ? undefined : query.data?.data) as
    | { attributes?: { "delete-older-than-n-days"?: number } }
    | null
    | undefined;
  const days = policy?.attributes?.["delete-older-than-n-days"];
  return (
    <Section
      title="Retention"
      about="Deletes old states and configurations, never the current ones. A workspace can have its own setting."
    >
      {query.isLoading && <LoadingRows rows={1} />}
      {!isNone && query.isError && <ErrorMessage error={query.error} />}
      {(query.isSuccess || isNone) && (
        <>
          <Text>
            {days === undefined
              ? "Old states are never deleted."
              : `Old states are deleted after ${counted(days, "day")}.`}
          </Text>
          {canUpdate && <Change key={days} organization={organization} days={days} />}
        </>
      )}
    </Section>
  );
}

function Change({ organization, days }: { readonly organization: string; readonly days: number | undefined }) {
  const path = { organization_name: organization };
  const draft = useDraft<{ "delete-older-than-n-days": number | string }>({ "delete-older-than-n-days": days ?? "" });
  const remove = useAction("DELETE /organizations/{organization_name}/relationships/data-retention-policy", {
    done: "Old states are no longer deleted.",
  });
  return (
    <Group align="flex-end" gap="sm">
      <OperationForm
        draft={draft}
        operation="POST /organizations/{organization_name}/relationships/data-retention-policy"
        done="Saved the retention policy."
        verb="Save"
        isReady={draft.isDirty()}
        // The server refuses what is not a number.
        input={(attributes) => ({
          path,
          body: {
            data: {
              type: "data-retention-policy-delete-olders",
              attributes: attributes as { "delete-older-than-n-days": number },
            },
          },
        })}
      >
        <WholeNumberInput
          label="Delete old states after, days"
          placeholder="365"
          min={1}
          w={200}
          {...draft.getInputProps("delete-older-than-n-days")}
        />
      </OperationForm>
      {days !== undefined && (
        <DangerButton
          verb="Never delete"
          title="Never delete old states?"
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path })}
        >
          Old states and configurations are kept forever, except in workspaces that have their own setting.
        </DangerButton>
      )}
    </Group>
  );
}
