/** The grant that a team already has on a project or workspace. */
import { useQuery } from "@tanstack/react-query";
import { completeListQuery } from "../api/queries.ts";
import type { AccessTargetKind } from "./words.ts";

export interface GrantDocument {
  readonly id: string;
  readonly attributes: Readonly<Record<string, any>> & { readonly access: string };
  readonly relationships: { readonly team?: { readonly data?: { readonly id: string } } };
}

interface GrantQuery {
  readonly kind: AccessTargetKind;
  readonly teamId: string;
  readonly targetId: string;
}

/** Without a target nothing is requested. */
export function useGrant({ kind, teamId, targetId }: GrantQuery) {
  const onProject = useQuery({
    ...completeListQuery("GET /team-projects", { query: { "filter[project][id]": targetId } }),
    enabled: kind === "project" && targetId !== "",
  });
  const onWorkspace = useQuery({
    ...completeListQuery("GET /team-workspaces", { query: { "filter[workspace][id]": targetId } }),
    enabled: kind === "workspace" && targetId !== "",
  });
  const query = kind === "project" ? onProject : onWorkspace;
  const records = (query.data?.data ?? []) as readonly GrantDocument[];
  return { query, record: records.find(({ relationships }) => relationships.team?.data?.id === teamId) };
}
