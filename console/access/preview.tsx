/** What changes of access would do, told before they are made; and made exactly as they were told, or not at all. */
import { Alert, Button, Group, Stack, Table, Text } from "@mantine/core";
import { IconUser, IconUsers } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useAction } from "../api/actions.ts";
import { call, type Answer, type Attributes } from "../api/client.ts";
import type { ApiError } from "../api/errors.ts";
import { LoadingRows, Refusal } from "../ui/states.tsx";
import { counted, figure } from "../ui/text.tsx";
import classes from "./access.module.css";
import type { Change } from "./changes.ts";
import { inWords, plain } from "./words.ts";

const operation = "POST /organizations/{organization_name}/access-previews";

type Told = Attributes<"access-previews">;
type Difference = Told["gains"][number];

const bodyOf = (changes: readonly Change[], more: object = {}) => ({
  data: { type: "access-previews" as const, attributes: { changes, ...more } },
});

/** A question, though it is sent as a POST: nothing comes of it but the answer. */
const asked = (organization: string, changes: readonly Change[]) =>
  queryOptions<Answer<typeof operation>, ApiError>({
    queryKey: ["what would change", organization, changes],
    queryFn: ({ signal }) =>
      call(operation, { path: { organization_name: organization }, body: bodyOf(changes) }, signal),
    gcTime: 0,
  });

export interface PreviewProps {
  readonly organization: string;
  readonly changes: readonly Change[];
  /** On the button: "Grant access". */
  readonly verb: string;
  readonly color?: string;
  /** What was done, in a sentence. */
  readonly done: string;
  readonly after?: () => void;
  readonly onCancel?: () => void;
  /** Whatever else would change, told between the preview and the button. */
  readonly children?: ReactNode;
}

export function Preview({ organization, changes, verb, color, done, after, onCancel, children }: PreviewProps) {
  const query = useQuery(asked(organization, changes));
  const [isOutdated, setOutdated] = useState(false);
  const action = useAction(operation, { done, refusal: "form", ...(after && { after }) });
  const told = query.data?.data.attributes;
  const apply = () =>
    action.mutate(
      {
        path: { organization_name: organization },
        body: bodyOf(changes, { "access-version": told?.["access-version"], apply: true }),
      },
      {
        onError: (error) => {
          setOutdated(error.isStale);
          if (error.isStale) void query.refetch();
        },
        onSuccess: () => setOutdated(false),
      },
    );
  if (query.isError && !told) return <Refusal error={query.error} />;
  if (!told) return <LoadingRows rows={4} />;
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      {isOutdated && (
        <Alert color="yellow" title="Access changed meanwhile, here is the new preview" role="alert">
          Nothing was done. Somebody changed who may do what since this was asked; look again, then confirm.
        </Alert>
      )}
      <Effects told={told} />
      {children}
      {!told.allowed && <NotAllowed changes={told.changes} />}
      {action.error && !action.error.isStale && <Refusal error={action.error} />}
      <Group gap="xs">
        {told.allowed && (
          <Button onClick={apply} loading={action.isPending} disabled={query.isFetching} color={color}>
            {verb}
          </Button>
        )}
        {onCancel && (
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function NotAllowed({ changes }: { readonly changes: Told["changes"] }) {
  const refusals = [...new Set(changes.flatMap(({ refusal }) => (refusal === null ? [] : [refusal])))];
  return (
    <Alert color="orange" title="You may not do this" role="alert">
      {refusals.map((refusal) => (
        <Text key={refusal}>{refusal}</Text>
      ))}
    </Alert>
  );
}

// ---- who gains and loses what ----

const subjectsIn = (differences: readonly Difference[], type: string) =>
  differences.filter(({ subject }) => subject.type === type).length;

/** "4 people and 1 team gain something, on up to 12 workspaces". */
function summaryOf(verb: string, differences: readonly Difference[], unseen: Told["unseen-gains"]): string {
  const people = subjectsIn(differences, "users") + unseen.users;
  const teams = subjectsIn(differences, "teams") + unseen.teams;
  if (people + teams === 0) return `nobody ${verb}s anything`;
  const who = [
    ...(people > 0 ? [counted(people, "person", "people")] : []),
    ...(teams > 0 ? [counted(teams, "team")] : []),
  ].join(" and ");
  const most = Math.max(0, ...differences.map((each) => each["workspace-count"]));
  const many = people + teams > 1;
  return `${who} ${many ? verb : `${verb}s`} something${most === 0 ? "" : `, on ${many ? "up to " : ""}${counted(most, "workspace")}`}`;
}

const shownAtFirst = 8;

function Effects({ told }: { readonly told: Told }) {
  const [all, setAll] = useState(false);
  const rows = [
    ...told.losses.flatMap((difference) => linesOf(difference, "loses")),
    ...told.gains.flatMap((difference) => linesOf(difference, "gains")),
  ];
  const summary = `${summaryOf("gain", told.gains, told["unseen-gains"])} · ${summaryOf("lose", told.losses, told["unseen-losses"])}`;
  const unseen = [told["unseen-gains"], told["unseen-losses"]].reduce(
    (sum, { teams, users }) => sum + teams + users,
    0,
  );
  return (
    <Stack gap="xs" role="region" aria-label="What would change">
      <Text fw={600} aria-live="polite">
        {summary.charAt(0).toUpperCase() + summary.slice(1)}
      </Text>
      {rows.length > 0 && (
        <Table.ScrollContainer minWidth={520} type="native">
          <Table aria-label="Who gains and loses what" fz="sm" verticalSpacing={4} layout="fixed">
            <Table.Thead>
              <Table.Tr fz="xs" c="dimmed">
                <Table.Th scope="col" fw={500} w="22%">
                  Who
                </Table.Th>
                <Table.Th scope="col" fw={500} w="40%">
                  What
                </Table.Th>
                <Table.Th scope="col" fw={500}>
                  Where
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>{rows.slice(0, all ? rows.length : shownAtFirst).map(drawnLine)}</Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {rows.length > shownAtFirst && !all && (
        <Group>
          <Button variant="subtle" onClick={() => setAll(true)}>
            Show all {figure(rows.length)}
          </Button>
        </Group>
      )}
      {unseen > 0 && (
        <Text c="dimmed" fz="sm">
          {counted(unseen, "of them is one", "of them are some")} that you may not see.
        </Text>
      )}
    </Stack>
  );
}

interface Line {
  readonly key: string;
  readonly subject: Difference["subject"];
  readonly verb: "gains" | "loses";
  readonly what: string;
  readonly where: string;
  readonly names: string;
}

function linesOf({ subject, organization, projects, workspaces }: Difference, verb: Line["verb"]): Line[] {
  const line = (what: string, where: string, names: string): Line => ({
    key: `${subject.id} ${verb} ${what} ${where}`,
    subject,
    verb,
    what,
    where,
    names,
  });
  const shares = (kind: "project" | "workspace", some: typeof projects) =>
    some.map(({ permissions, count, named }) =>
      line(
        inWords(permissions, kind),
        counted(count, kind),
        `${named.map(({ name }) => name).join(", ")}${count > named.length ? ` and ${figure(count - named.length)} more` : ""}`,
      ),
    );
  return [
    ...(organization.length > 0 ? [line(organization.map(plain).join(", "), "the organization", "")] : []),
    ...shares("project", projects),
    ...shares("workspace", workspaces),
  ];
}

function drawnLine({ key, subject, verb, what, where, names }: Line) {
  const isGain = verb === "gains";
  return (
    <Table.Tr key={key}>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {subject.type === "teams" ? (
            <IconUsers size={14} aria-label="Team" style={{ flexShrink: 0 }} />
          ) : (
            <IconUser size={14} aria-label="Person" style={{ flexShrink: 0 }} />
          )}
          <Text span inherit truncate title={subject.name}>
            {subject.name}
          </Text>
        </Group>
      </Table.Td>
      <Table.Td>
        <Text span inherit fw={600} className={isGain ? classes["gain"] : classes["loss"]}>
          {isGain ? "+ gains" : "− loses"}
        </Text>{" "}
        {what}
      </Table.Td>
      <Table.Td>
        {where}
        {names !== "" && (
          <Text span inherit c="dimmed">
            {" "}
            {names}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
