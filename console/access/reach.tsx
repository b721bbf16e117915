/** Reach: everything that a team, person or token can access, at which level, and why. */
import { Alert, Group, Select, Stack, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../api/client.ts";
import { ExportButton } from "../components/export-button.tsx";
import type { CompleteList } from "../api/queries.ts";
import { useAddress } from "../ui/address.ts";
import { QueryContent, Empty } from "../components/states.tsx";
import { counted, figure } from "../ui/text.tsx";
import classes from "./access.module.css";
import { ReachTree } from "./reach-tree.tsx";
import { permissionChoices } from "./words.ts";
import { reachOf, type ReachQuerySubject } from "../api/detail-queries.ts";

type List = Pick<CompleteList<unknown>, "meta">;

interface ReachProps {
  readonly organization: string;
  readonly of: ReachQuerySubject;
}

export function Reach({ organization, of }: ReachProps) {
  const { search, set } = useAddress();
  const reach = reachOf(organization, of, search);
  const query = useQuery(reach.query);
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Select
          aria-label="Permission"
          placeholder="Any permission"
          size="xs"
          w={200}
          clearable
          clearButtonProps={{ "aria-label": "Any permission" }}
          data={[...permissionChoices]}
          value={search["permission"] ?? null}
          onChange={(permission) => set({ permission: permission ?? undefined })}
        />
        <ExportButton address={reach.address} name={`reach-${of.team ?? of.user ?? of.token}.csv`} />
      </Group>
      <QueryContent query={query}>
        {(list) => (
          <>
            {list.meta?.refused && (
              <Alert color="yellow" title="This token has no access" role="note">
                {list.meta.refused}
              </Alert>
            )}
            <Totals list={list} />
            {list.data.length === 0 ? (
              <Empty title="No access">
                {search["permission"]
                  ? "No access with this permission that you can see."
                  : "No project or workspace that you can see is in reach."}
              </Empty>
            ) : (
              <ReachTree organization={organization} rows={list.data as readonly Resource<"reaches">[]} />
            )}
            {list.count > list.data.length && (
              <Text c="dimmed" fz="sm">
                Showing the first {figure(list.data.length)} of {figure(list.count)} by name. Filter by permission, or
                export all.
              </Text>
            )}
          </>
        )}
      </QueryContent>
    </Stack>
  );
}

const order = ["admin", "maintain", "write", "plan", "read", "custom"];

function Totals({ list }: { readonly list: List }) {
  const { workspaces, projects } = list.meta?.totals ?? { workspaces: {}, projects: {} };
  const hidden = list.meta?.hidden ?? { projects: 0, workspaces: 0 };
  const levels = order.flatMap((level) =>
    workspaces[level] > 0 ? [[level, workspaces[level] as number] as const] : [],
  );
  const sum = (totals: Readonly<Record<string, number>>) => Object.values(totals).reduce((all, each) => all + each, 0);
  return (
    <Stack gap={6} role="group" aria-label="Totals">
      <Text fw={600}>
        Access to {counted(sum(workspaces), "workspace")} and {counted(sum(projects), "project")}
        {hidden.workspaces + hidden.projects > 0 && (
          <Text span inherit c="dimmed" fw={400}>
            {" "}
            · {counted(hidden.workspaces, "more workspace")} and {counted(hidden.projects, "more project")} hidden from
            you
          </Text>
        )}
      </Text>
      {levels.length > 0 && (
        <div className={classes["bar"]} aria-hidden="true">
          {levels.map(([level, count]) => (
            <Tooltip key={level} label={`${level}: ${figure(count)}`}>
              <div className={classes[`level_${level}`]} style={{ flex: count }} />
            </Tooltip>
          ))}
        </div>
      )}
      <Group gap="md" fz="sm">
        {levels.map(([level, count]) => (
          <Group key={level} gap={6}>
            <span className={`${classes["swatch"]} ${classes[`level_${level}`]}`} aria-hidden="true" />
            <span>
              {level} {figure(count)}
            </span>
          </Group>
        ))}
      </Group>
    </Stack>
  );
}
