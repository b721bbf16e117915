/** Who gains and loses access: a summary, and one line for all subjects with the same difference. */
import { Button, Group, List, Stack, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconUser, IconUsers } from "@tabler/icons-react";
import { useState } from "react";
import { counted, figure } from "../ui/text.tsx";
import type { Attributes } from "../api/client.ts";
import { permissionsText, plainName } from "./words.ts";
import classes from "./access.module.css";

const groupsAtFirst = 8;
const subjectsAtFirst = 8;

interface EffectsProps {
  readonly preview: AccessEffects;
  readonly isPast?: boolean;
}

export function Effects({ preview, isPast = false }: EffectsProps) {
  const [all, setAll] = useState(false);
  const groups = groupsOf(preview);
  const unseen = [preview["unseen-gains"], preview["unseen-losses"]].reduce(
    (sum, { teams, users } = nobody) => sum + teams + users,
    0,
  );
  return (
    <Stack gap="xs" role="region" aria-label={isPast ? "What changed" : "What would change"}>
      <Text fw={600} aria-live="polite">
        {summaryOf(preview, isPast)}
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

/** A shortened list keeps the teams: they say more than the names of members. */
function firstOf(subjects: readonly AffectedSubject[]): readonly AffectedSubject[] {
  if (subjects.length <= subjectsAtFirst) return subjects;
  const teams = subjects.filter(({ type }) => type === "teams").slice(0, subjectsAtFirst - 1);
  const people = subjects.filter(({ type }) => type !== "teams");
  return [...people.slice(0, subjectsAtFirst - teams.length), ...teams];
}

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

const Name = ({ subject: { type, name } }: { readonly subject: AffectedSubject }) => (
  <span className={classes["subject"]}>
    {type === "teams" ? <IconUsers size={13} aria-label="Team" /> : <IconUser size={13} aria-label="Person" />} {name}
  </span>
);

export type AccessPreview = Attributes<"access-previews">;
type AccessDifference = AccessPreview["gains"][number];
type Unseen = AccessPreview["unseen-gains"];
/** Of a preview or of an access request. */
export type AccessEffects = Pick<AccessPreview, "gains" | "losses"> &
  Partial<Pick<AccessPreview, "unseen-gains" | "unseen-losses">>;
const nobody: Unseen = { teams: 0, users: 0 };
export type AffectedSubject = AccessDifference["subject"];

export interface EffectGroup {
  readonly key: string;
  readonly isGain: boolean;
  readonly what: string;
  readonly where: string;
  readonly names: string;
  readonly subjects: readonly AffectedSubject[];
}

type AccessEffect = Omit<EffectGroup, "key" | "subjects">;

function effectsOf({ organization, projects, workspaces }: AccessDifference, isGain: boolean): AccessEffect[] {
  const shares = (kind: "project" | "workspace", some: typeof projects): AccessEffect[] =>
    some.map(({ permissions, count, named }) => ({
      isGain,
      what: permissionsText(permissions, kind),
      where: `on ${counted(count, kind)}`,
      names: `${named.map(({ name }) => name).join(", ")}${count > named.length ? ` and ${figure(count - named.length)} more` : ""}`,
    }));
  const everywhere = { isGain, what: organization.map(plainName).join(", "), where: "in the organization", names: "" };
  return [
    ...(organization.length > 0 ? [everywhere] : []),
    ...shares("project", projects),
    ...shares("workspace", workspaces),
  ];
}

/** Losses come first: readers look for them. */
export function groupsOf({ losses, gains }: Pick<AccessPreview, "losses" | "gains">): EffectGroup[] {
  const all = [
    ...losses.flatMap((each) => effectsOf(each, false).map((effect) => ({ effect, subject: each.subject }))),
    ...gains.flatMap((each) => effectsOf(each, true).map((effect) => ({ effect, subject: each.subject }))),
  ];
  return [...Map.groupBy(all, ({ effect }) => Object.values(effect).join("\n"))].map(([key, [first, ...others]]) => {
    const subjects = [first!, ...others].map(({ subject }) => subject);
    const isTeam = ({ type }: AffectedSubject) => type === "teams";
    return {
      key,
      ...first!.effect,
      subjects: [...subjects.filter((subject) => !isTeam(subject)), ...subjects.filter(isTeam)],
    };
  });
}

/** "up to 36 workspaces" if the number differs between subjects. */
function extentOf(differences: readonly AccessDifference[]): string | undefined {
  for (const kind of ["workspace", "project"] as const) {
    const counts = differences.map((each) => each[`${kind}-count`]);
    const most = Math.max(0, ...counts);
    if (most > 0) return `${counts.every((count) => count === most) ? "" : "up to "}${counted(most, kind)}`;
  }
  return undefined;
}

const isAboutReading = ({ projects, workspaces }: AccessDifference): boolean =>
  [...projects, ...workspaces].some(({ permissions }) =>
    permissions.some((name) => name === "can-read" || name === "can-read-settings"),
  );

function objectOf(differences: readonly AccessDifference[]): string {
  if (differences.every(isAboutReading)) return "access to";
  return differences.some(isAboutReading) ? "access or permissions on" : "permissions on";
}

const verbs = { gain: "gained", lose: "lost" } as const;

function sentenceOf(
  verb: "gain" | "lose",
  isPast: boolean,
  differences: readonly AccessDifference[],
  unseen: Unseen,
): string | undefined {
  const seen = (type: string) => differences.filter(({ subject }) => subject.type === type).length;
  const people = seen("users") + unseen.users;
  const teams = seen("teams") + unseen.teams;
  if (people + teams === 0) return undefined;
  const who = [
    ...(people > 0 ? [counted(people, "person", "people")] : []),
    ...(teams > 0 ? [counted(teams, "team")] : []),
  ].join(" and ");
  const extent = extentOf(differences);
  const what =
    extent === undefined
      ? differences.length === 0
        ? "access"
        : "permissions in the organization"
      : `${objectOf(differences)} ${extent}`;
  return `${who} ${isPast ? verbs[verb] : people + teams > 1 ? verb : `${verb}s`} ${what}.`;
}

export function summaryOf(preview: AccessEffects, isPast = false): string {
  const gain = sentenceOf("gain", isPast, preview.gains, preview["unseen-gains"] ?? nobody);
  const loss = sentenceOf("lose", isPast, preview.losses, preview["unseen-losses"] ?? nobody);
  const [gains, loses] = isPast ? [verbs.gain, verbs.lose] : ["gains", "loses"];
  if (gain === undefined && loss === undefined) return `Nobody ${gains} or ${loses} access.`;
  if (gain === undefined) return `${loss} Nobody ${gains} access.`;
  return `${gain} ${loss ?? `Nobody ${loses} access.`}`;
}
