/** Changes that give access, as sentences with the names of teams, projects and workspaces. */
import { List } from "@mantine/core";
import type { ReactNode } from "react";
import { usePickerItem } from "../components/pickers.tsx";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { type AccessChange, type GivingChange, givingChangeOf, takerId } from "./changes.ts";

interface ChangeTextProps {
  readonly organization: string;
  readonly change: AccessChange;
  /** The subject of a seat: "You", "The person". */
  readonly taker?: string;
}

export function ChangeText({ organization, change, taker = "The person" }: ChangeTextProps) {
  const given = givingChangeOf(change);
  if (given?.gives === "grant") return <GrantText organization={organization} given={given} />;
  if (given?.gives === "seat") return <SeatText organization={organization} given={given} taker={taker} />;
  return (
    <span className="mono wrapped">
      {change.method} {change.path}
    </span>
  );
}

interface GivenProps<G extends GivingChange["gives"]> {
  readonly organization: string;
  readonly given: Extract<GivingChange, { gives: G }>;
}

function GrantText({ organization, given: { kind, targetId, teamId, attributes } }: GivenProps<"grant">) {
  const target = usePickerItem(`${kind}s`, targetId)?.attributes.name;
  const to =
    kind === "project"
      ? paths.projectAccess(organization, targetId)
      : target && paths.workspaceAccess(organization, target);
  return (
    <>
      <TeamName organization={organization} id={teamId} /> gets <b>{attributes.access}</b> on {kind}{" "}
      {to ? <Link to={to}>{target ?? targetId}</Link> : targetId}
    </>
  );
}

function SeatText({ organization, given: { teamId, userIds }, taker }: GivenProps<"seat"> & { taker: string }) {
  const who = userIds.map((id) => (id === takerId ? taker : id)).join(", ");
  return (
    <>
      {who} {userIds.length === 1 && who !== "You" ? "joins" : "join"} team{" "}
      <TeamName organization={organization} id={teamId} />
    </>
  );
}

export function TeamName({ organization, id }: { readonly organization: string; readonly id: string }) {
  return <Link to={paths.team(organization, id)}>{usePickerItem("teams", id)?.attributes.name ?? id}</Link>;
}

interface ChangeListProps extends Omit<ChangeTextProps, "change"> {
  readonly changes: readonly AccessChange[];
  readonly label: string;
  readonly actions?: (index: number) => ReactNode;
}

export const ChangeList = ({ changes, label, actions, ...rest }: ChangeListProps) => (
  <List size="sm" spacing={4} aria-label={label}>
    {changes.map((change, index) => (
      <List.Item key={index}>
        <ChangeText change={change} {...rest} />
        {actions?.(index)}
      </List.Item>
    ))}
  </List>
);
