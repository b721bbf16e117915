/** The form of a rule: its policy, which the server checks while it is typed, and its enforcement. */
import { Radio, Stack, Switch, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { accessRule } from "../../api/detail-queries.ts";
import { changesIn, OperationForm, useDraft, type FormDraft } from "../../components/forms.tsx";
import { paths } from "../../paths.ts";
import { useGo } from "../../ui/link.tsx";
import { PolicyInput } from "./policy-input.tsx";
import { type Enforcement, enforcements, enforcementWords, firstPolicy } from "./words.ts";

const create = "POST /organizations/{organization_name}/access-rules";
const update = "PATCH /access-rules/{access_rule_id}";

interface RuleFormProps {
  readonly organization: string;
  readonly known?: { readonly data: Resource<"access-rules">; readonly etag?: string | undefined };
}

interface RuleValues {
  readonly name: string;
  readonly description: string;
  readonly policy: string;
  readonly enforcement: Enforcement;
  readonly enabled: boolean;
}

export function RuleForm({ organization, known }: RuleFormProps) {
  const go = useGo();
  const client = useQueryClient();
  const rule = known?.data;
  const attributes = rule?.attributes;
  const draft = useDraft<RuleValues>({
    name: attributes?.name ?? "",
    description: attributes?.description ?? "",
    policy: attributes?.policy ?? firstPolicy,
    enforcement: attributes?.enforcement ?? "approval",
    enabled: attributes?.enabled ?? true,
  });
  const cancel = () => go(paths.accessRules(organization));
  const fields = <RuleFields organization={organization} draft={draft} />;
  if (!rule)
    return (
      <OperationForm
        draft={draft}
        operation={create}
        done={`Created rule ${draft.values.name}.`}
        after={({ data }) => go(paths.accessRule(organization, data.id))}
        verb="Create rule"
        onCancel={cancel}
        input={({ description, ...attributes }) => ({
          path: { organization_name: organization },
          body: {
            data: { type: "access-rules", attributes: { ...attributes, description: description.trim() || null } },
          },
        })}
      >
        {fields}
      </OperationForm>
    );
  return (
    <OperationForm
      draft={draft}
      operation={update}
      done={`Saved rule ${draft.values.name}.`}
      after={() => draft.resetDirty()}
      verb="Save"
      isReady={draft.isDirty()}
      etag={known?.etag}
      reload={async () => (await client.fetchQuery({ ...accessRule(rule.id), staleTime: 0 })).etag}
      input={(_, ifMatch) => ({
        path: { access_rule_id: rule.id },
        ifMatch,
        body: { data: { type: "access-rules", attributes: updateOf(changesIn(draft)) } },
      })}
    >
      {fields}
    </OperationForm>
  );
}

const updateOf = ({ description, ...attributes }: Partial<RuleValues>) => ({
  ...attributes,
  ...(description !== undefined && { description: description.trim() || null }),
});

interface RuleFieldsProps {
  readonly organization: string;
  readonly draft: FormDraft<RuleValues>;
}

function RuleFields({ organization, draft }: RuleFieldsProps) {
  return (
    <>
      <TextInput label="Name" placeholder="production-expires" {...draft.getInputProps("name")} />
      <Textarea label="Description" autosize minRows={1} {...draft.getInputProps("description")} />
      <PolicyInput organization={organization} {...draft.getInputProps("policy")} />
      <Radio.Group label="Enforcement" {...draft.getInputProps("enforcement")}>
        <Stack gap="xs" mt={4}>
          {enforcements.map((value) => (
            <Radio
              key={value}
              value={value}
              label={enforcementWords[value].label}
              description={enforcementWords[value].about}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Switch
        label="Enabled"
        description="A rule applies to new changes. It removes no existing access."
        {...draft.getInputProps("enabled", { type: "checkbox" })}
      />
    </>
  );
}
