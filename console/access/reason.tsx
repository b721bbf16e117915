/** The source of a permission, as a sentence. */
import { useQuery } from "@tanstack/react-query";
import { apiQuery, useRights } from "../api/queries.ts";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { When } from "../ui/text.tsx";
import { plainName, type Source, type AccessSubject, type AccessTarget } from "./words.ts";

interface ReasonProps {
  readonly organization: string;
  readonly source: Source;
  readonly subject: AccessSubject;
  readonly target: AccessTarget;
}

export function Reason({ organization, source, subject, target }: ReasonProps) {
  const { team, level, permission } = source;
  const isItself = team !== undefined && team.id === subject.id;
  const who = team && (
    <>
      {isItself ? "it" : "the team "}
      {!isItself && <Link to={paths.team(organization, team.id)}>{team.name}</Link>}
    </>
  );
  switch (source.kind) {
    case "site-admin":
      return <>site admins can do everything</>;
    case "ownership":
      return <>{isItself ? "owners" : who} can do everything in the organization</>;
    case "organization-permission":
      return (
        <>
          {who} has <b>{plainName(permission ?? "")}</b> in the whole organization
        </>
      );
    case "team-project":
      return (
        <>
          {who} has <b>{level}</b> on{" "}
          {target.project ? (
            <>
              the project <Link to={paths.projectAccess(organization, target.project.id)}>{target.project.name}</Link>
            </>
          ) : (
            "this project"
          )}
        </>
      );
    case "team-workspace":
      return (
        <>
          {who} has <b>{level}</b> on this workspace
        </>
      );
    default:
      return <>{plainName(source.kind)}</>;
  }
}

export function Granted({ organization, record }: { readonly organization: string; readonly record: string }) {
  const rights = useRights(organization);
  const trail = useQuery({
    ...apiQuery("GET /organizations/{organization_name}/audit-events", {
      path: { organization_name: organization },
      query: { "filter[subject][id]": record, "page[size]": 20 },
    }),
    enabled: rights?.["can-manage-auditing"] === true,
  });
  const given = trail.data?.data.findLast(({ attributes }) => attributes.action.endsWith(".create"));
  if (!given) return null;
  return (
    <>
      , granted by {given.attributes["actor-name"]} <When time={given.attributes["created-at"]} />
    </>
  );
}
