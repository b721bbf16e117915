/** Who gains and loses what: a sentence, and a line for all who are affected in the same way. */
import { Button, Group, List, Stack, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconUser, IconUsers } from "@tabler/icons-react";
import { useState } from "react";
import { counted, figure } from "../ui/text.tsx";
import classes from "./access.module.css";
import { type AccessPreview, type Affected, type EffectGroup, groupsOf, summaryOf } from "./groups.ts";

const groupsAtFirst = 8;
const subjectsAtFirst = 8;

export function Effects({ preview }: { readonly preview: AccessPreview }) {
  const [all, setAll] = useState(false);
  const groups = groupsOf(preview);
  const unseen = [preview["unseen-gains"], preview["unseen-losses"]].reduce(
    (sum, { teams, users }) => sum + teams + users,
    0,
  );
  return (
    <Stack gap="xs" role="region" aria-label="What would change">
      <Text fw={600} aria-live="polite">
        {summaryOf(preview)}
      </Text>
      {groups.length > 0 && (
        <List listStyleType="none" fz="sm" spacing={6} aria-label="Who gains and loses what">
          {groups.slice(0, all ? groups.length : groupsAtFirst).map((group) => (
            <GroupLine key={group.key} group={group} />
          ))}
        </List>
      )}
      {groups.length > groupsAtFirst && !all && (
        <Group>
          <Button variant="subtle" onClick={() => setAll(true)}>
            Show all {figure(groups.length)}
          </Button>
        </Group>
      )}
      {unseen > 0 && (
        <Text c="dimmed" fz="sm">
          {counted(unseen, "of them is hidden", "of them are hidden")} from you.
        </Text>
      )}
    </Stack>
  );
}

/** Of a long list the teams stay: they say more than the names of their members. */
function firstOf(subjects: readonly Affected[]): readonly Affected[] {
  if (subjects.length <= subjectsAtFirst) return subjects;
  const teams = subjects.filter(({ type }) => type === "teams").slice(0, subjectsAtFirst - 1);
  const people = subjects.filter(({ type }) => type !== "teams");
  return [...people.slice(0, subjectsAtFirst - teams.length), ...teams];
}

/** "+ plan, apply on 36 workspaces: bo, kim, network-ops", and below it the first of the workspaces. */
function GroupLine({ group: { isGain, what, where, names, subjects } }: { readonly group: EffectGroup }) {
  const [all, setAll] = useState(false);
  const shown = all ? subjects : firstOf(subjects);
  const left = subjects.length - shown.length;
  return (
    <List.Item className={classes["effect"]}>
      <Text span inherit fw={600} className={isGain ? classes["gain"] : classes["loss"]}>
        <span aria-hidden="true">{isGain ? "+" : "−"} </span>
        <VisuallyHidden>{isGain ? "Gain: " : "Lose: "}</VisuallyHidden>
        {what}
      </Text>{" "}
      {where}:{" "}
      {shown.map((subject, index) => (
        <span key={`${subject.type} ${subject.id}`}>
          {index > 0 && ", "}
          <Name subject={subject} />
        </span>
      ))}
      {left > 0 && (
        <UnstyledButton fz="sm" className={classes["more"]} onClick={() => setAll(true)}>
          {" "}
          and {figure(left)} more
        </UnstyledButton>
      )}
      {names !== "" && (
        <Text inherit fz="xs" c="dimmed" className={classes["names"]}>
          {names}
        </Text>
      )}
    </List.Item>
  );
}

const Name = ({ subject: { type, name } }: { readonly subject: Affected }) => (
  <span className={classes["subject"]}>
    {type === "teams" ? <IconUsers size={13} aria-label="Team" /> : <IconUser size={13} aria-label="Person" />} {name}
  </span>
);
