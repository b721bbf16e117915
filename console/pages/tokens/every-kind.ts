/** Collects the tokens of every kind that the caller can see. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { completeListQuery, account, apiQuery, useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import type { RotateProps } from "./rotate.tsx";
import type { Token } from "./table.tsx";
import { allTeams } from "../../api/list-queries.ts";
import { tokensOfUser } from "../../api/detail-queries.ts";

export interface ListedToken {
  readonly token: Token;
  readonly kind: "organization" | "audit log" | "team" | "you" | "agent pool";
  readonly name: string;
  readonly page?: (organization: string) => string;
  readonly rotation?: RotateProps["holder"];
}

export interface Tokens {
  readonly held: readonly ListedToken[];
  readonly leftOut: number;
  readonly isLoading: boolean;
  readonly errors: readonly unknown[];
}

export function useTokens(organization: string): Tokens {
  const path = { organization_name: organization };
  const me = useQuery(account()).data?.data;
  const rights = useRights(organization);
  const canManageOwn = rights?.["can-update-api-token"] === true;
  // Lists, because a missing single token would be a 404, which browsers log.
  const ofOrganization = "GET /organizations/{organization_name}/authentication-tokens";
  const trail = { token: "audit-trails" };
  const own = useQuery({ ...apiQuery(ofOrganization, { path }), enabled: canManageOwn });
  const audit = useQuery({ ...apiQuery(ofOrganization, { path, query: trail }), enabled: canManageOwn });
  const teamTokens = useQuery({
    ...completeListQuery("GET /organizations/{organization_name}/team-tokens", { path, query: { sort: "expired-at" } }),
    enabled: rights?.["can-create-team"] === true,
  });
  const teams = useQuery(allTeams(organization));
  const mine = useQuery({
    ...tokensOfUser(me?.id ?? ""),
    enabled: me !== undefined,
  });
  const agents = useAgentTokens(organization, rights?.["can-update-agent-pools"] === true);
  const teamNames = new Map(teams.data?.data.map(({ id, attributes }) => [id, attributes.name]));
  const held: ListedToken[] = [
    ...(own.data?.data ?? []).map((token) => ofOrganizationItself(token, organization, "organization")),
    ...(audit.data?.data ?? []).map((token) => ofOrganizationItself(token, organization, "audit log", trail)),
    ...(teamTokens.data?.data ?? []).map((token): ListedToken => {
      const id = token.relationships.team?.data?.id ?? "";
      return {
        token,
        kind: "team",
        name: teamNames.get(id) ?? id,
        page: (organization) => paths.team(organization, id),
        rotation: { kind: "teams", id },
      };
    }),
    ...(mine.data?.data ?? []).map((token): ListedToken => ({
      token,
      kind: "you",
      name: me!.attributes.username,
      page: () => paths.account(),
      rotation: { kind: "users", id: me!.id },
    })),
    ...agents.held,
  ];
  const queries = [own, audit, teamTokens, mine];
  return {
    held,
    leftOut: countBeyondPage(teamTokens.data) + countBeyondPage(mine.data) + agents.leftOut,
    isLoading: queries.some(({ isLoading }) => isLoading) || agents.isLoading,
    errors: queries.flatMap(({ error }) => (error ? [error] : [])),
  };
}

const countBeyondPage = (page: { readonly count: number; readonly data: readonly unknown[] } | undefined): number =>
  page === undefined ? 0 : page.count - page.data.length;

const ofOrganizationItself = (
  token: Token,
  organization: string,
  kind: "organization" | "audit log",
  query?: Record<string, string>,
): ListedToken => ({
  token,
  kind,
  name: organization,
  rotation: { kind: "organizations", id: organization, ...(query && { query }) },
});

function useAgentTokens(organization: string, enabled: boolean): Omit<Tokens, "errors"> {
  const pools = useQuery({
    ...completeListQuery("GET /organizations/{organization_name}/agent-pools", {
      path: { organization_name: organization },
    }),
    enabled,
  });
  const all = pools.data?.data ?? [];
  const lists = useQueries({
    queries: all.map(({ id }) =>
      completeListQuery("GET /agent-pools/{agent_pool_id}/authentication-tokens", { path: { agent_pool_id: id } }),
    ),
  });
  const held = all.flatMap(({ id, attributes }, index) =>
    (lists[index]?.data?.data ?? []).map((token: Token): ListedToken => ({
      token,
      kind: "agent pool",
      name: attributes.name,
      page: (organization) => paths.agentPool(organization, id),
    })),
  );
  const leftOut = lists.reduce((sum, { data }) => sum + countBeyondPage(data), 0);
  return { held, leftOut, isLoading: pools.isLoading || lists.some(({ isLoading }) => isLoading) };
}
