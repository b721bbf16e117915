/** The default execution mode, and its agent pool, of an organization or a project. */
import { Select, type SelectProps } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { completeListQuery } from "../../api/queries.ts";
import type { FormDraft } from "../../components/forms.tsx";

interface PoolSelectProps extends Pick<SelectProps, "description" | "disabled" | "error" | "value" | "onChange"> {
  readonly organization: string;
}

export function PoolSelect({ organization, ...field }: PoolSelectProps) {
  const pools = useQuery(
    completeListQuery("GET /organizations/{organization_name}/agent-pools", {
      path: { organization_name: organization },
    }),
  );
  return (
    <Select
      label="Agent pool"
      placeholder={pools.data?.data.length === 0 ? "No agent pools yet" : "Select an agent pool"}
      data={pools.data?.data.map(({ id, attributes }) => ({ value: id, label: attributes.name })) ?? []}
      {...field}
    />
  );
}

const modes = [
  { value: "remote", label: "Remote: on this server's workers" },
  { value: "local", label: "Local: where you run Terraform" },
  { value: "agent", label: "Agent: on an agent pool" },
];

interface DefaultExecutionProps {
  readonly draft: FormDraft<any>;
  readonly organization: string;
  readonly label: string;
  readonly description: string;
  readonly follows?: string;
  readonly disabled?: boolean;
}

export function DefaultExecution(props: DefaultExecutionProps) {
  const { draft, organization, label, description, follows, disabled = false } = props;
  const mode = draft.getInputProps("default-execution-mode");
  const pool = draft.getInputProps("default-agent-pool");
  return (
    <>
      <Select
        label={label}
        description={description}
        data={follows === undefined ? modes : [{ value: "", label: follows }, ...modes]}
        disabled={disabled}
        {...mode}
        onChange={(value) => mode.onChange(value ?? "")}
      />
      {draft.getValues()["default-execution-mode"] === "agent" && (
        <PoolSelect
          organization={organization}
          disabled={disabled}
          {...pool}
          value={pool.value === "" ? null : pool.value}
          onChange={(value) => pool.onChange(value ?? "")}
        />
      )}
    </>
  );
}
