/** The measured requests: every list, search, filter and sort, first and deep pages, as an owner and as a team member. */
import { type Filled, largeOrganization, type tokens } from "./fill.ts";

export type Caller = keyof typeof tokens;

export interface Case {
  readonly name: string;
  readonly caller: Caller;
  readonly path: string;
  /** Maximum cost as a multiple of that with a thousand workspaces: 10 for deep pages and an owner's name searches, otherwise 2. */
  readonly aim: number;
}

interface CaseTemplate {
  readonly name: string;
  readonly path: (filled: Filled, last: (size: number) => number) => string;
  readonly aim?: number;
  readonly ownerAim?: number;
  readonly only?: Caller;
}

const organization = `/organizations/${largeOrganization}`;
const workspaces = `${organization}/workspaces`;
const encode = encodeURIComponent;
const ask = (name: string, query: string, more: Partial<CaseTemplate> = {}): CaseTemplate => ({
  name: `workspaces: ${name}`,
  path: () => `${workspaces}?${query}`,
  ...more,
});
const search = (name: string, query: string, more: Partial<CaseTemplate> = {}) =>
  ask(name, query, { ownerAim: 10, ...more });

const workspaceLists: readonly CaseTemplate[] = [
  { name: "workspace by id", path: ({ workspaceId }) => `/workspaces/${workspaceId}` },
  { name: "workspace by name", path: ({ workspaceName }) => `${workspaces}/${workspaceName}` },
  ask("first 20", "page[size]=20"),
  ask("first 100", "page[size]=100"),
  { name: "workspaces: last page", path: (_, last) => `${workspaces}?page[size]=20&page[number]=${last(20)}`, aim: 10 },
  {
    name: "workspaces: middle page",
    path: (_, last) => `${workspaces}?page[number]=${Math.ceil(last(20) / 2)}`,
    aim: 10,
  },
  ...["-name", "latest-change-at", "-latest-change-at", "current-run.created-at", "-current-run.created-at"].flatMap(
    (sort) => [
      ask(`sort=${sort}`, `sort=${sort}`),
      {
        name: `workspaces: sort=${sort}, last page`,
        path: (_: Filled, last: (size: number) => number) => `${workspaces}?sort=${sort}&page[number]=${last(20)}`,
        aim: 10,
      },
    ],
  ),
  {
    name: "workspaces: search[name] one",
    path: ({ workspaceName }) => `${workspaces}?search[name]=${workspaceName.slice(3, 16)}`,
    ownerAim: 10,
  },
  search("search[name] twenty", "search[name]=payroll"),
  search("search[name] twenty, by change", "search[name]=payroll&sort=-latest-change-at"),
  search("search[name] none", "search[name]=nothing-like-it"),
  search("search[name] a seventh", "search[name]=network"),
  {
    name: "workspaces: search[name] a seventh, deep page",
    // The fiftieth, or the last of a small database.
    path: (_, last) => `${workspaces}?search[name]=network&page[number]=${Math.min(50, last(7 * 20))}`,
    ownerAim: 10,
  },
  search("search[name] two words", "search[name]=prod%20payroll"),
  search("search[name] two letters", "search[name]=ay"),
  search("search[wildcard-name] prefix", "search[wildcard-name]=payroll*"),
  search("search[wildcard-name] inside", "search[wildcard-name]=*ayrol*"),
  {
    name: "workspaces: search[wildcard-name] suffix",
    path: ({ workspaceName }) => `${workspaces}?search[wildcard-name]=*${workspaceName.slice(9)}`,
    ownerAim: 10,
  },
  search("search[wildcard-name] two parts", "search[wildcard-name]=pay*duction"),
  ask("search[tags] rare", "search[tags]=rare"),
  ask("search[tags] rare and common", "search[tags]=rare,left-3"),
  ask("search[tags] common", "search[tags]=left-3"),
  ask("search[exclude-tags]", "search[exclude-tags]=left-3"),
  ask("filter[tagged] rare", "filter[tagged][0][key]=rare-key"),
  ask("filter[tagged] value", "filter[tagged][0][key]=environment&filter[tagged][0][value]=staging"),
  ask("filter[tagged] of projects", "filter[tagged][0][key]=department&filter[tagged][0][value]=department-3"),
  ask("filter[status] rare", "filter[current-run][status]=planning"),
  ask("filter[status] common", "filter[current-run][status]=errored"),
  { name: "workspaces: filter[project]", path: ({ projectId }) => `${workspaces}?filter[project][id]=${projectId}` },
  {
    name: "workspaces: filter[project], search[name]",
    path: ({ projectId }) => `${workspaces}?filter[project][id]=${projectId}&search[name]=network`,
  },
];

const otherLists: readonly CaseTemplate[] = [
  { name: "projects: first 20", path: () => `${organization}/projects` },
  { name: "projects: first 100", path: () => `${organization}/projects?page[size]=100` },
  {
    name: "projects: last page",
    path: ({ layout }) => `${organization}/projects?page[number]=${Math.ceil(layout.large.projects / 20)}`,
    aim: 10,
    only: "owner",
  },
  { name: "projects: sort=name", path: () => `${organization}/projects?sort=name` },
  { name: "projects: q", path: () => `${organization}/projects?q=network`, ownerAim: 10 },
  { name: "projects: filter[names]", path: () => `${organization}/projects?filter[names]=network-10000000` },
  { name: "projects: filter[tagged]", path: () => `${organization}/projects?filter[tagged][0][key]=department` },
  { name: "projects: filter[permissions]", path: () => `${organization}/projects?filter[permissions][update]=true` },
  { name: "project", path: ({ projectId }) => `/projects/${projectId}` },
  { name: "organization", path: () => organization },
  { name: "organizations", path: () => "/organizations" },
  { name: "teams", path: () => `${organization}/teams` },
  {
    name: "teams: last page",
    path: ({ layout }) => `${organization}/teams?page[number]=${Math.ceil(layout.large.teams / 20)}`,
    aim: 10,
  },
  { name: "teams: q", path: () => `${organization}/teams?q=team-7` },
  { name: "teams: filter[names]", path: () => `${organization}/teams?filter[names]=team-7` },
  { name: "members of a team", path: ({ teamId }) => `/teams/${teamId}/relationships/organization-memberships` },
  { name: "memberships", path: () => `${organization}/organization-memberships`, only: "owner" },
  { name: "memberships: q", path: () => `${organization}/organization-memberships?q=user-7`, only: "owner" },
  {
    name: "memberships: filter[email]",
    path: () => `${organization}/organization-memberships?filter[email]=user-7@example.com`,
    only: "owner",
  },
  {
    name: "memberships: filter[status]",
    path: () => `${organization}/organization-memberships?filter[status]=invited`,
    only: "owner",
  },
  { name: "own memberships", path: () => "/organization-memberships" },
  { name: "tags", path: () => `${organization}/tags` },
  { name: "tags: q", path: () => `${organization}/tags?q=rar` },
  {
    name: "tags: exclude",
    path: ({ workspaceId }) => `${organization}/tags?filter[exclude][taggable][id]=${workspaceId}`,
  },
  { name: "tags of a workspace", path: ({ workspaceId }) => `/workspaces/${workspaceId}/relationships/tags` },
  {
    name: "tag bindings of a workspace",
    path: ({ workspaceId }) => `/workspaces/${workspaceId}/effective-tag-bindings`,
  },
  { name: "team-projects", path: ({ projectId }) => `/team-projects?filter[project][id]=${projectId}`, only: "owner" },
  { name: "team-workspaces", path: ({ workspaceId }) => `/team-workspaces?filter[workspace][id]=${workspaceId}` },
  { name: "reach of a team", path: ({ teamId }) => `/teams/${teamId}/reach`, aim: 10 },
  {
    name: "reach of a team: filter[permission]",
    path: ({ teamId }) => `/teams/${teamId}/reach?filter[permission]=can-queue-apply&sort=-name`,
    aim: 10,
  },
  {
    name: "reach of a person",
    path: ({ userId }) => `/users/${userId}/reach?filter[organization][name]=${largeOrganization}`,
    aim: 10,
    only: "owner",
  },
  {
    name: "access holders of a workspace",
    path: ({ workspaceId }) => `${organization}/access-holders?filter[workspace][id]=${workspaceId}`,
    aim: 10,
    only: "owner",
  },
  { name: "state versions of a workspace", path: ({ workspaceId }) => `/workspaces/${workspaceId}/state-versions` },
  { name: "audit events", path: () => `${organization}/audit-events`, only: "owner" },
  {
    name: "audit events: deep",
    path: () => `${organization}/audit-events?filter[until]=${encode("2026-06-15T00:00:00.000Z")}`,
    aim: 10,
    only: "owner",
  },
  {
    name: "audit events: by actor",
    path: ({ userId }) => `${organization}/audit-events?filter[actor][id]=${userId}`,
    only: "owner",
  },
  {
    name: "audit events: by subject",
    path: ({ workspaceId }) => `${organization}/audit-events?filter[subject][id]=${workspaceId}`,
    only: "owner",
  },
  {
    name: "audit events: by action",
    path: () => `${organization}/audit-events?filter[action]=workspaces.create`,
    only: "owner",
  },
  {
    name: "audit events: by type, none",
    path: () => `${organization}/audit-events?filter[subject][type]=teams`,
    only: "owner",
  },
];

/** `readable`: the length of each caller's workspace list. */
export function casesFor(filled: Filled, readable: Readonly<Record<Caller, number>>): Case[] {
  return [...workspaceLists, ...otherLists].flatMap(({ name, path, aim = 2, ownerAim = aim, only }) =>
    (only === undefined ? (["owner", "member"] as const) : [only]).map((caller) => ({
      name,
      caller,
      path: `/api/v2${path(filled, (size) => Math.max(1, Math.ceil(readable[caller] / size)))}`,
      aim: caller === "owner" ? ownerAim : aim,
    })),
  );
}
