/** Who gains and loses what, on how much: a sentence, and a line for each. */
import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { IconUser, IconUsers } from "@tabler/icons-react";
import { useState } from "react";
import type { Attributes } from "../api/client.ts";
import { counted, figure } from "../ui/text.tsx";
import classes from "./access.module.css";
import { inWords, plain } from "./words.ts";

export type Told = Attributes<"access-previews">;
type Difference = Told["gains"][number];

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

export function Effects({ told }: { readonly told: Told }) {
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
        <Table aria-label="Who gains and loses what" fz="sm" verticalSpacing={4} layout="fixed">
          <Table.Thead>
            <Table.Tr fz="xs" c="dimmed">
              <Table.Th scope="col" fw={500} w="24%">
                Who
              </Table.Th>
              <Table.Th scope="col" fw={500} w="40%">
                What
              </Table.Th>
              <Table.Th scope="col" fw={500} visibleFrom="xs">
                Where
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>{rows.slice(0, all ? rows.length : shownAtFirst).map(drawnLine)}</Table.Tbody>
        </Table>
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

function drawnLine({ key, subject, verb, what, where, names }: Line, index: number, lines: readonly Line[]) {
  const isGain = verb === "gains";
  const isSame = lines[index - 1]?.subject.id === subject.id;
  const place = (
    <>
      {where}
      {names !== "" && (
        <Text span inherit c="dimmed">
          {" "}
          {names}
        </Text>
      )}
    </>
  );
  return (
    <Table.Tr key={key}>
      <Table.Td style={{ verticalAlign: "top" }}>
        <Group gap={6} wrap="nowrap" className={isSame ? classes["repeated"] : ""}>
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
      <Table.Td style={{ verticalAlign: "top" }}>
        <Text span inherit fw={600} className={isGain ? classes["gain"] : classes["loss"]}>
          {isGain ? "+ gains" : "− loses"}
        </Text>{" "}
        {what}
        <Text inherit hiddenFrom="xs">
          {place}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="xs">{place}</Table.Td>
    </Table.Tr>
  );
}
