/** Changes of access as instructions, with the names of teams, projects and workspaces. */
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
  /** Who joins a team by taking an offer. */
  readonly taker?: string;
  /** By id; other names are requested. */
  readonly names?: KnownNames | undefined;
}

export function ChangeText({ organization, change, taker = "the person", names }: ChangeTextProps) {
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
      Grant <TeamName {...rest} id={teamId} /> <b>{attributes.access}</b> on {kind}{" "}
      <TargetName {...rest} kind={`${kind}s`} id={targetId} />
    </>
  );
}

function SeatText({ given: { teamId, userIds }, taker, ...rest }: GivenProps<"seat"> & { taker: string }) {
  const people = listed(userIds.map((id) => (id === takerId ? taker : (rest.names?.get(id) ?? id))));
  return (
    <>
      Add {people} to team <TeamName {...rest} id={teamId} />
    </>
  );
}

const listed = (names: readonly string[]): string => new Intl.ListFormat("en-GB").format(names);

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
          Change <RecordText {...rest} type={type} id={id} />
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
          Remove <RecordText {...rest} type={type} id={id} />
        </>
      );
    case "DELETE teams users":
    case "DELETE teams organization-memberships":
      return (
        <>
          Remove {listed((data as readonly { readonly id: string }[]).map(({ id }) => names?.get(id) ?? id))} from team{" "}
          <TeamName {...rest} id={id} />
        </>
      );
    case "PATCH teams":
      return (
        <>
          Change team <TeamName {...rest} id={id} />: {teamSettingsText(data?.attributes ?? {})}
        </>
      );
    case "DELETE teams":
      return (
        <>
          Delete team <TeamName {...rest} id={id} />
        </>
      );
    case "DELETE organization-memberships":
      return <>Remove membership {id}</>;
    case "POST projects workspaces":
      return (
        <>
          Move {counted(data.length, "workspace")} to project <TargetName {...rest} kind="projects" id={id} />
        </>
      );
    case "PATCH workspaces":
      return (
        <>
          Move workspace <TargetName {...rest} kind="workspaces" id={id} /> to project{" "}
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

const teamSettingsText = (attributes: Readonly<Record<string, unknown>>): string =>
  listed(
    Object.entries(attributes).map(([name, value]) => {
      if (name === "organization-access") return `organization access (${grantedText(value as object)})`;
      return `${name.replaceAll("-", " ")} ${typeof value === "boolean" ? (value ? "on" : "off") : String(value)}`;
    }),
  );

/** For example "manage workspaces, not read projects". */
const grantedText = (organizationAccess: object): string =>
  Object.entries(organizationAccess)
    .map(([permission, isGranted]) => `${isGranted === true ? "" : "not "}${permission.replaceAll("-", " ")}`)
    .join(", ");

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
  if (grant === undefined) return <>grant {id}</>;
  const relationships: Readonly<Record<string, { readonly data?: { readonly id: string } | null }>> =
    grant.relationships;
  return (
    <>
      the grant of <TeamName {...rest} id={relationships["team"]?.data?.id ?? ""} /> on{" "}
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
