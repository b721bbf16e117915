/** A field for a policy in Cedar. The server checks it while its author types. */
import { Anchor, Code, Stack, Text, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { addressOf, call, type OperationResponse } from "../../api/client.ts";
import { type ApiError, sortProblems } from "../../api/errors.ts";

const operation = "POST /organizations/{organization_name}/access-rules/actions/validate";
const soonMs = 400;

/** A query although it is a POST: a check changes nothing. */
const policyCheck = (organization: string, policy: string) =>
  queryOptions<OperationResponse<typeof operation>, ApiError>({
    queryKey: ["check of a policy", organization, policy],
    queryFn: ({ signal }) =>
      call(
        operation,
        {
          path: { organization_name: organization },
          body: { data: { type: "access-rules", attributes: { policy } } },
        },
        signal,
      ),
    gcTime: 0,
    staleTime: Infinity,
  });

interface PolicyInputProps {
  readonly organization: string;
  readonly value?: string;
  readonly onChange?: (policy: string) => void;
  readonly error?: ReactNode;
}

export function PolicyInput({ organization, value = "", onChange, error }: PolicyInputProps) {
  const [policy] = useDebouncedValue(value, soonMs);
  const isBlank = policy.trim() === "";
  const check = useQuery({ ...policyCheck(organization, policy), enabled: !isBlank });
  const isCurrent = policy === value && !isBlank;
  const { byField, rest } = check.error ? sortProblems(check.error, ["policy"]) : { byField: {}, rest: [] };
  const fault = isCurrent ? byField["policy"] : undefined;
  return (
    <Stack gap={4}>
      <Textarea
        label="Policy"
        description={
          <>
            One <code>forbid</code> policy in Cedar. Entities, actions and context are in the{" "}
            <Anchor inherit href={schemaAddress(organization)} target="_blank" rel="noreferrer">
              Cedar schema
            </Anchor>
            ; its <code>@message</code> is shown to people whose change is refused.
          </>
        }
        classNames={{ input: "mono" }}
        autosize
        minRows={8}
        maxRows={30}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        value={value}
        onChange={({ currentTarget }) => onChange?.(currentTarget.value)}
        error={fault ?? error}
      />
      {fault !== undefined && <Position policy={policy} fault={fault} />}
      <Text fz="sm" c="dimmed" aria-live="polite" mih="1.2rem">
        {statusOf({ isBlank, isChecking: !isCurrent || check.isFetching, isValid: check.isSuccess, rest })}
      </Text>
    </Stack>
  );
}

const schemaAddress = (organization: string) =>
  addressOf("GET /organizations/{organization_name}/access-rules/schema", {
    path: { organization_name: organization },
  });

interface CheckStatus {
  readonly isBlank: boolean;
  readonly isChecking: boolean;
  readonly isValid: boolean;
  readonly rest: readonly string[];
}

function statusOf({ isBlank, isChecking, isValid, rest }: CheckStatus): string {
  if (isBlank) return "";
  if (isChecking) return "Checking…";
  if (isValid) return "The policy is valid.";
  return rest.join(" ");
}

const positionIn = /line (\d+), column (\d+)/;

/** The line that the message names, with a mark below its position. */
function Position({ policy, fault }: { readonly policy: string; readonly fault: string }) {
  const [, line, column] = positionIn.exec(fault) ?? [];
  const text = policy.split("\n")[Number(line) - 1];
  if (text === undefined) return null;
  return (
    <Code block fz="sm" tabIndex={0} aria-label={`Line ${line}`}>
      {`${text}\n${" ".repeat(Math.max(0, Number(column) - 1))}^`}
    </Code>
  );
}
