/** Explains a permission: its grants, who created them, when they expire, and what removing one would change. */
import { Button, Group, List, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "../api/client.ts";
import { paths } from "../paths.ts";
import { Expires } from "../ui/text.tsx";
import { Link } from "../ui/link.tsx";
import { LoadingRows } from "../components/states.tsx";
import { type AccessChange, leaveTeamChange, revokeChange } from "./changes.ts";
import { Preview } from "./preview.tsx";
import { type MatrixColumn, valueText } from "./columns.ts";
import { Granted, Reason } from "./reason.tsx";
import type { Source, AccessSubject, AccessTarget, PermissionValues } from "./words.ts";
import { ownAccess } from "../api/detail-queries.ts";

export interface PermissionExplanationProps {
  readonly organization: string;
  readonly target: AccessTarget;
  readonly subject: AccessSubject;
  readonly column: MatrixColumn;
  readonly values: PermissionValues;
  readonly explanation?: Resource<"access-explanations">;
  readonly sources: readonly Source[];
  readonly canManage: boolean;
}

/** The caller may see the records and still not be allowed to read the explanation. */
function useExplanation({ target, subject, explanation }: PermissionExplanationProps) {
  const query = { [subject.type === "teams" ? "filter[team][id]" : "filter[user][id]"]: subject.id };
  const enabled = explanation === undefined;
  const access = useQuery({ ...ownAccess(target, query), enabled });
  return { isLoading: enabled && access.isLoading, found: explanation ?? access.data?.data };
}

export function PermissionExplanation(props: PermissionExplanationProps) {
  const { organization, target, subject, column, values, sources, canManage } = props;
  const { isLoading, found } = useExplanation(props);
  if (isLoading) return <LoadingRows rows={2} />;
  const value = column.value(values);
  const permission = column.permission(values);
  const explained = (found?.attributes.permissions as Record<string, { "given-by": readonly Source[] }> | undefined)?.[
    permission
  ];
  const giving = explained?.["given-by"] ?? sources;
  const level = values[permission];
  const isMore = typeof level === "string" && value === true && level !== column.key;
  if (value === false)
    return (
      <Text fz="sm">
        <b>{subject.name}</b> can’t {column.about} here.
        {canManage && subject.type === "teams" && (
          <>
            {" "}
            <Link to={paths.grant(organization, { team: subject.id, [target.kind]: target.id })}>
              Grant access to {subject.name}
            </Link>
          </>
        )}
      </Text>
    );
  return (
    <Stack gap="xs">
      <Text fz="sm">
        <b>{subject.name}</b> can {column.about}
        {value !== true && <> ({valueText(value)})</>}
        {isMore && <>, as part of “{level}”</>}, because:
      </Text>
      <List fz="sm" spacing={4} styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}>
        {giving.map((source, index) => (
          <List.Item key={`${source.kind} ${source.id ?? index}`}>
            <GrantReason {...props} source={source} />
          </List.Item>
        ))}
      </List>
      {giving.length === 0 && <Text fz="sm">This comes from a team that is hidden from you.</Text>}
    </Stack>
  );
}

interface Removal {
  readonly label: string;
  readonly verb: string;
  readonly done: string;
  readonly change: AccessChange;
}

function removalsOf(source: Source, subject: AccessSubject): Removal[] {
  const { team, type, id } = source;
  const isRecord = source.kind === "team-project" || source.kind === "team-workspace";
  return [
    ...(isRecord && type !== undefined && id !== undefined
      ? [
          {
            label: "What if this grant were removed?",
            verb: "Remove grant",
            done: `Removed the grant to ${team?.name}.`,
            change: revokeChange(type, id),
          },
        ]
      : []),
    ...(subject.type === "users" && team !== undefined
      ? [
          {
            label: `What if ${subject.name} left ${team.name}?`,
            verb: `Remove ${subject.name} from ${team.name}`,
            done: `Removed ${subject.name} from ${team.name}.`,
            change: leaveTeamChange(team.id, subject.name),
          },
        ]
      : []),
  ];
}

function GrantReason({
  organization,
  target,
  subject,
  canManage,
  source,
}: PermissionExplanationProps & { readonly source: Source }) {
  const [open, setOpen] = useState<string>();
  const removals = canManage ? removalsOf(source, subject) : [];
  const chosen = removals.find(({ label }) => label === open);
  const isRecord = source.kind === "team-project" || source.kind === "team-workspace";
  return (
    <Stack gap={6}>
      <span>
        <Reason source={source} subject={subject} target={target} organization={organization} />
        {isRecord && source.id !== undefined && <Granted organization={organization} record={source.id} />}
        {source.until && (
          <>
            , <Expires time={source.until} isSentence />
          </>
        )}
        {source.reason && <>: “{source.reason}”</>}.
      </span>
      {removals.length > 0 && (
        <Group gap="xs">
          {removals.map(({ label }) => (
            <Button
              key={label}
              variant="default"
              size="compact-xs"
              aria-expanded={open === label}
              onClick={() => setOpen(open === label ? undefined : label)}
            >
              {label}
            </Button>
          ))}
          {isRecord && source.team && (
            <Link to={paths.grant(organization, grantTargetOf(source, target))} fz="xs">
              Change grant
            </Link>
          )}
        </Group>
      )}
      {chosen && (
        <Preview
          key={chosen.label}
          organization={organization}
          changes={[chosen.change]}
          verb={chosen.verb}
          color="red"
          done={chosen.done}
          after={() => setOpen(undefined)}
          onCancel={() => setOpen(undefined)}
        />
      )}
    </Stack>
  );
}

const grantTargetOf = (
  { kind, team }: Source,
  target: AccessTarget,
): { team?: string; project?: string; workspace?: string } => ({
  ...(team && { team: team.id }),
  ...(kind === "team-project"
    ? { project: target.kind === "project" ? target.id : (target.project?.id ?? "") }
    : { workspace: target.id }),
});
