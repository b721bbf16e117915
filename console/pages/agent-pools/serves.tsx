/** Whom a pool serves: everybody but some, or only the chosen ones. Each choice is saved at once, on the version that was seen. */
import { Radio, Stack, Text } from "@mantine/core";
import { useAction } from "../../api/actions.ts";
import { includedIn, type Answer } from "../../api/client.ts";
import { ChosenThings } from "../../components/pickers.tsx";
import { Section } from "../../ui/page.tsx";

export type PoolAnswer = Answer<"GET /agent-pools/{agent_pool_id}">;

interface ServesProps {
  readonly organization: string;
  readonly answer: PoolAnswer;
  readonly mayUpdate: boolean;
}

const lists = {
  "allowed-projects": { kind: "projects", label: "Allowed projects" },
  "allowed-workspaces": { kind: "workspaces", label: "Allowed workspaces" },
  "excluded-workspaces": { kind: "workspaces", label: "Excluded workspaces" },
} as const;

export function Serves({ organization, answer, mayUpdate }: ServesProps) {
  const { data: pool, etag } = answer;
  const isForAll = pool.attributes["organization-scoped"];
  const change = useAction("PATCH /agent-pools/{agent_pool_id}", { done: "Saved the scope." });
  const send = (changes: object) =>
    change.mutate({
      path: { agent_pool_id: pool.id },
      ifMatch: etag,
      body: { data: { type: "agent-pools", ...changes } },
    });
  const shown = isForAll ? (["excluded-workspaces"] as const) : (["allowed-projects", "allowed-workspaces"] as const);
  return (
    <Section title="Scope" about="Only workspaces in scope can use this pool.">
      <Radio.Group
        aria-label="Scope"
        value={isForAll ? "all" : "some"}
        onChange={(value) => send({ attributes: { "organization-scoped": value === "all" } })}
      >
        <Stack gap={6}>
          <Radio value="all" disabled={!mayUpdate} label="All workspaces, except the excluded ones" />
          <Radio value="some" disabled={!mayUpdate} label="Selected projects and workspaces" />
        </Stack>
      </Radio.Group>
      {shown.map((name) => {
        const { kind, label } = lists[name];
        const ids = (pool.relationships[name]?.data ?? []).map(({ id }) => id);
        const keep = (kept: readonly string[]) =>
          send({ relationships: { [name]: { data: kept.map((id) => ({ type: kind, id })) } } });
        return (
          <Stack key={name} gap={4} mt={4}>
            <Text fz="sm" c="dimmed">
              {label}
            </Text>
            <ChosenThings
              organization={organization}
              kind={kind}
              label={label}
              chosen={ids.map((id) => ({ id, name: includedIn(answer, kind, id)?.attributes.name }))}
              change={
                mayUpdate
                  ? { onAdd: (id) => keep([...ids, id]), onRemove: (id) => keep(ids.filter((one) => one !== id)) }
                  : undefined
              }
            />
          </Stack>
        );
      })}
    </Section>
  );
}
