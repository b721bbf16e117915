/** The SSH key of a workspace's runs, and the retention of old state versions. */
import { Button, Group, Radio, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { completeListQuery, account, apiQuery, organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { WholeNumberInput } from "../../ui/inputs.tsx";
import type { WorkspaceDetails } from "./details.ts";

export function SshKeyAndRetention({ details }: { readonly details: WorkspaceDetails }) {
  const isHosted = useQuery(account()).data?.isHosted;
  return (
    <Stack gap={0} maw="44rem">
      <SshKey details={details} />
      {isHosted ? (
        <Section title="State retention">The hosted edition keeps all state versions.</Section>
      ) : (
        <Retention details={details} />
      )}
    </Stack>
  );
}

function SshKey({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const keys = useQuery(
    completeListQuery("GET /organizations/{organization_name}/ssh-keys", { path: { organization_name: organization } }),
  );
  const action = useAction("PATCH /workspaces/{workspace_id}/relationships/ssh-key", {
    done: "Saved the SSH key.",
  });
  const canChange = workspace.attributes.permissions["can-update"] === true;
  const assign = (id: string | null) =>
    action.mutate({
      path: { workspace_id: workspace.id },
      body: { data: { type: "workspaces", attributes: { id } } },
    });
  return (
    <Section
      title="SSH key"
      about={
        <>
          Runs use it to fetch modules from private repositories.{" "}
          <Link to={paths.sshKeys(organization)} underline="always">
            Manage SSH keys
          </Link>
        </>
      }
    >
      <Select
        aria-label="SSH key"
        placeholder="None"
        clearable
        disabled={!canChange}
        data={(keys.data?.data ?? []).map(({ id, attributes }) => ({ value: id, label: attributes.name ?? id }))}
        value={workspace.relationships["ssh-key"]?.data?.id ?? null}
        onChange={assign}
        clearButtonProps={{ "aria-label": "No SSH key" }}
        w={280}
      />
    </Section>
  );
}

function Retention({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const path = { workspace_id: workspace.id };
  const known = useQuery(organizationQuery(organization)).data?.data;
  // Otherwise the server would respond 404, which browsers log.
  const isWithout =
    known !== undefined && ![workspace, known].some((each) => each.relationships["data-retention-policy"]?.data);
  const query = useQuery({
    ...apiQuery("GET /workspaces/{workspace_id}/relationships/data-retention-policy", { path }),
    enabled: known !== undefined && !isWithout,
  });
  return (
    <Section
      title="State retention"
      about="The current state is always kept. You can't restore deleted state versions."
    >
      {isWithout ? (
        <RetentionForm key="none" workspace={workspace} policy={null} />
      ) : (
        <QueryContent query={query} loading={<LoadingRows rows={3} />}>
          {(response) => <RetentionForm workspace={workspace} policy={response.data as Policy} />}
        </QueryContent>
      )}
    </Section>
  );
}

type Policy = {
  readonly type: string;
  readonly attributes?: { readonly "delete-older-than-n-days"?: number };
  readonly relationships?: { readonly workspace?: { readonly data?: { readonly id: string } | null } };
} | null;

function RetentionForm({
  workspace,
  policy,
}: {
  readonly workspace: WorkspaceDetails["workspace"];
  readonly policy: Policy;
}) {
  const path = { workspace_id: workspace.id };
  const isOwn = policy?.relationships?.workspace?.data?.id === workspace.id;
  const keepsAll = policy?.type === "data-retention-policy-dont-deletes";
  const known = policy?.attributes?.["delete-older-than-n-days"];
  const [choice, setChoice] = useState(isOwn ? (keepsAll ? "all" : "days") : "default");
  const [days, setDays] = useState<number | string>(known ?? 90);
  const set = useAction("POST /workspaces/{workspace_id}/relationships/data-retention-policy", {
    done: "Saved the retention policy.",
  });
  const clear = useAction("DELETE /workspaces/{workspace_id}/relationships/data-retention-policy", {
    done: "The workspace now uses the organization's retention policy.",
  });
  const canChange = workspace.attributes.permissions["can-update"] === true;
  const save = () => {
    if (choice === "default") clear.mutate({ path });
    else if (choice === "all") set.mutate({ path, body: { data: { type: "data-retention-policy-dont-deletes" } } });
    else
      set.mutate({
        path,
        body: {
          data: {
            type: "data-retention-policy-delete-olders",
            attributes: { "delete-older-than-n-days": Number(days) },
          },
        },
      });
  };
  const inForce = policy === null ? "keep all" : keepsAll ? "keep all" : `delete after ${known} days`;
  return (
    <Stack gap="xs">
      <Radio.Group value={choice} onChange={setChoice} aria-label="State retention">
        <Stack gap={6}>
          <Radio value="default" disabled={!canChange} label="Organization default" />
          <Radio value="all" disabled={!canChange} label="Keep all state versions" />
          <Radio value="days" disabled={!canChange} label="Delete old state versions" />
        </Stack>
      </Radio.Group>
      {choice === "days" && (
        <WholeNumberInput
          label="Delete after, days"
          min={1}
          max={36_500}
          value={days}
          onChange={setDays}
          w={140}
          disabled={!canChange}
        />
      )}
      <Text c="dimmed" fz="sm">
        Current policy: {inForce}.
      </Text>
      {canChange && (
        <Group>
          <Button variant="default" onClick={save} loading={set.isPending || clear.isPending}>
            Save
          </Button>
        </Group>
      )}
    </Stack>
  );
}
