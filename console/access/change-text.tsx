/** Changes of access as sentences, with the names of teams, projects and workspaces. */
import { List } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { apiQuery } from "../api/queries.ts";
import { usePickerItem, type PickerKind } from "../components/pickers.tsx";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { counted } from "../ui/text.tsx";
import { type AccessChange, type GivingChange, givingChangeOf, takerId } from "./changes.ts";

export type KnownNames = ReadonlyMap<string, string>;

interface ChangeTextProps {
  readonly organization: string;
  readonly change: AccessChange;
  /** The subject of a seat: "You", "The person". */
  readonly taker?: string;
  /** By id; other names are requested. */
  readonly names?: KnownNames | undefined;
}

export function ChangeText({ organization, change, taker = "The person", names }: ChangeTextProps) {
  const given = givingChangeOf(change);
  if (given?.gives === "grant") return <GrantText {...{ organization, given, names }} />;
  if (given?.gives === "seat") return <SeatText {...{ organization, given, taker, names }} />;
  return <OtherChangeText {...{ organization, change, names }} />;
}

interface GivenProps<G extends GivingChange["gives"]> extends Pick<ChangeTextProps, "organization" | "names"> {
  readonly given: Extract<GivingChange, { gives: G }>;
}

function GrantText({ given: { kind, targetId, teamId, attributes }, ...rest }: GivenProps<"grant">) {
  return (
    <>
      <TeamName {...rest} id={teamId} /> gets <b>{attributes.access}</b> on {kind}{" "}
      <TargetName {...rest} kind={`${kind}s`} id={targetId} />
    </>
  );
}

function SeatText({ given: { teamId, userIds }, taker, ...rest }: GivenProps<"seat"> & { taker: string }) {
  const who = userIds.map((id) => (id === takerId ? taker : (rest.names?.get(id) ?? id))).join(", ");
  return (
    <>
      {who} {userIds.length === 1 && who !== "You" ? "joins" : "join"} team <TeamName {...rest} id={teamId} />
    </>
  );
}

interface ReferencedNameProps extends Pick<ChangeTextProps, "organization" | "names"> {
  readonly id: string;
}

const useName = (kind: PickerKind, { id, names }: ReferencedNameProps): string | undefined => {
  const known = names?.get(id);
  const item = usePickerItem(kind, known === undefined ? id : undefined);
  return known ?? item?.attributes.name;
};

export function TeamName(props: ReferencedNameProps) {
  return <Link to={paths.team(props.organization, props.id)}>{useName("teams", props) ?? props.id}</Link>;
}

function TargetName({ kind, ...props }: ReferencedNameProps & { readonly kind: "projects" | "workspaces" }) {
  const { organization, id } = props;
  const name = useName(kind, props);
  if (name === undefined) return id;
  return (
    <Link to={kind === "projects" ? paths.projectAccess(organization, id) : paths.workspaceAccess(organization, name)}>
      {name}
    </Link>
  );
}

/** Changes that take access away, or move it. */
function OtherChangeText({ organization, change, names }: ChangeTextProps) {
  const place = change.path.replace(/^\/api\/v2/, "");
  const { data } = (change.body ?? {}) as { readonly data?: any };
  const rest = { organization, names };
  const [, type = "", id = "", relation] = /^\/([\w-]+)\/([^/]+)(?:\/relationships\/([\w-]+))?$/.exec(place) ?? [];
  switch (`${change.method} ${type}${relation ? ` ${relation}` : ""}`) {
    case "PATCH team-projects":
    case "PATCH team-workspaces":
      return (
        <>
          <RecordText {...rest} type={type} id={id} /> changes
          {data?.attributes?.access && (
            <>
              {" "}
              to <b>{data.attributes.access}</b>
            </>
          )}
        </>
      );
    case "DELETE team-projects":
    case "DELETE team-workspaces":
      return (
        <>
          <RecordText {...rest} type={type} id={id} /> is removed
        </>
      );
    case "DELETE teams users":
    case "DELETE teams organization-memberships":
      return (
        <>
          {(data as readonly { readonly id: string }[]).map(({ id }) => names?.get(id) ?? id).join(", ")} leaves team{" "}
          <TeamName {...rest} id={id} />
        </>
      );
    case "PATCH teams":
      return (
        <>
          Organization access of team <TeamName {...rest} id={id} /> changes
        </>
      );
    case "DELETE teams":
      return (
        <>
          Team <TeamName {...rest} id={id} /> is deleted
        </>
      );
    case "DELETE organization-memberships":
      return <>Membership {id} ends</>;
    case "POST projects workspaces":
      return (
        <>
          {counted(data.length, "workspace")} {data.length === 1 ? "moves" : "move"} to project{" "}
          <TargetName {...rest} kind="projects" id={id} />
        </>
      );
    case "PATCH workspaces":
      return (
        <>
          Workspace <TargetName {...rest} kind="workspaces" id={id} /> moves to project{" "}
          <TargetName {...rest} kind="projects" id={data?.relationships?.project?.data?.id ?? ""} />
        </>
      );
    default:
      return (
        <span className="mono wrapped">
          {change.method} {change.path}
        </span>
      );
  }
}

/** An existing grant; once it is deleted, only its id is known. */
function RecordText({ type, id, ...rest }: ReferencedNameProps & { readonly type: string }) {
  const isOnProject = type === "team-projects";
  const onProject = useQuery({
    ...apiQuery("GET /team-projects/{team_project_id}", { path: { team_project_id: id } }),
    enabled: isOnProject,
  });
  const onWorkspace = useQuery({
    ...apiQuery("GET /team-workspaces/{team_workspace_id}", { path: { team_workspace_id: id } }),
    enabled: !isOnProject,
  });
  const grant = (isOnProject ? onProject : onWorkspace).data?.data;
  if (grant === undefined) return <>Grant {id}</>;
  const relationships: Readonly<Record<string, { readonly data?: { readonly id: string } | null }>> =
    grant.relationships;
  return (
    <>
      The grant of <TeamName {...rest} id={relationships["team"]?.data?.id ?? ""} /> on{" "}
      {isOnProject ? "project" : "workspace"}{" "}
      <TargetName
        {...rest}
        kind={isOnProject ? "projects" : "workspaces"}
        id={relationships[isOnProject ? "project" : "workspace"]?.data?.id ?? ""}
      />
    </>
  );
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
