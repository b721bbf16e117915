/** The rows of the matrix: teams, people, or only the caller. */
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { Resource } from "../api/client.ts";
import { account, pagedQuery, useRights } from "../api/queries.ts";
import type { Pagination } from "../api/schema.gen.ts";
import type { MatrixColumn } from "./columns.ts";
import type { Source, AccessSubject, AccessTarget, PermissionValues } from "./words.ts";
import { ownAccess, teamAccess } from "../api/detail-queries.ts";

export interface AccessMatrixRow {
  readonly subject: AccessSubject;
  readonly values: PermissionValues;
  readonly sources: readonly Source[];
  readonly hiddenSources: number;
  readonly explanation?: Resource<"access-explanations">;
}

export interface AccessRows {
  readonly query: UseQueryResult<unknown, unknown>;
  readonly rows: readonly AccessMatrixRow[];
  readonly pagination: Pagination | undefined;
  readonly isOnlyOneself?: boolean;
}

const size = 100;

function sourcesIn(explanation: Resource<"access-explanations">): Source[] {
  const all = Object.values(explanation.attributes.permissions).flatMap(
    (each) => each["given-by"] as readonly Source[],
  );
  return [...new Map(all.map((source) => [`${source.kind} ${source.id} ${source.permission ?? ""}`, source])).values()];
}

function rowOf(explanation: Resource<"access-explanations">, type: AccessSubject["type"]): AccessMatrixRow {
  const { permissions, "subject-name": name } = explanation.attributes;
  return {
    subject: { type, id: explanation.relationships.subject?.data?.id ?? "", name },
    values: Object.fromEntries(Object.entries(permissions).map(([permission, { value }]) => [permission, value])),
    sources: sourcesIn(explanation),
    hiddenSources: 0,
    explanation,
  };
}

interface AccessRowsQuery {
  readonly organization: string;
  readonly target: AccessTarget;
  readonly page: number;
  readonly permission: MatrixColumn | undefined;
  readonly enabled: boolean;
}

export function useTeamRows({ target, page, enabled }: AccessRowsQuery): AccessRows {
  const query = useQuery({ ...teamAccess(target, page), enabled });
  return {
    query,
    rows: query.data?.data.map((explanation) => rowOf(explanation, "teams")) ?? [],
    pagination: query.data?.meta?.pagination,
  };
}

export function usePeopleRows({ organization, target, page, permission, enabled }: AccessRowsQuery): AccessRows {
  const mine = useOwnAccess(target);
  const rights = useRights(organization);
  const canAsk = mine.canManage || rights?.["can-manage-memberships"] === true || rights?.["can-create-team"] === true;
  const holders = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/access-holders", {
      path: { organization_name: organization },
      query: {
        [target.kind === "workspace" ? "filter[workspace][id]" : "filter[project][id]"]: target.id,
        "filter[kind]": "user",
        "filter[permission]": permission?.can,
        "page[size]": size,
        "page[number]": page,
      },
    }),
    enabled: enabled && canAsk,
  });
  const me = useQuery(account()).data?.data;
  if (!canAsk)
    return {
      query: mine.query,
      rows: mine.explanation && me ? [rowOf(mine.explanation, "users")] : [],
      pagination: undefined,
      isOnlyOneself: true,
    };
  return {
    query: holders,
    rows:
      holders.data?.data.map(({ attributes, relationships }) => ({
        subject: { type: "users", id: relationships.holder?.data?.id ?? "", name: attributes.name },
        values: attributes.values,
        sources: attributes["given-by"],
        hiddenSources: attributes["hidden-sources"],
      })) ?? [],
    pagination: holders.data?.meta?.pagination,
  };
}

export function useOwnAccess(target: AccessTarget | undefined) {
  const query = useQuery({ ...ownAccess(target ?? { kind: "project", id: "" }), enabled: target !== undefined });
  const explanation = query.data?.data;
  return { query, explanation, canManage: explanation?.attributes.can["can-manage-team-access"] === true };
}
