/** The search of the Ctrl-K palette: the server searches names; pages and actions are known here. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { account, pagedQuery, workspaceNamed, useRights } from "./api/queries.ts";
import {
  type PaletteAction,
  organizationActions,
  verbIn,
  type Workspace,
  workspaceActions,
} from "./palette-actions.ts";
import { paths } from "./paths.ts";
import { navigationOf } from "./navigation.ts";
import { hasWords } from "./ui/text.tsx";

const resultsPerGroup = 6;
const actionsMax = 8;

export interface PaletteItem {
  readonly id: string;
  readonly label: string;
  readonly about?: string | undefined;
  readonly action: PaletteAction;
  readonly workspace?: Workspace;
}

export interface ItemGroup {
  readonly group: string;
  /** A workspace's name, which may equal another group's title. */
  readonly isOfWorkspace?: boolean;
  readonly items: readonly PaletteItem[];
}

interface PaletteSearch {
  readonly groups: readonly ItemGroup[];
  readonly isSearching: boolean;
}

const idOf = (text: string) => text.replaceAll(/\W/g, "-");
const toItem = (action: PaletteAction): PaletteItem => ({
  id: idOf(`do-${action.label}`),
  label: action.label,
  action,
});
const toPageItem = ([label, to]: readonly [string, string]): PaletteItem => ({
  id: idOf(`to-${to}`),
  label,
  action: { label, to },
});

export function useSearch(organization: string, text: string, scope: Workspace | undefined): PaletteSearch {
  const userId = useQuery(account()).data?.data.id;
  const actions = useActions(organization, userId);
  const found = useNameSearch(organization, scope ? "" : text);
  const onFound = useVerbSearch(organization, scope ? "" : text, userId);
  const rights = useRights(organization);
  if (scope) {
    const items = workspaceActions(organization, scope, userId).map((action) => ({
      ...toItem(action),
      workspace: scope,
    }));
    const offered = items.filter(({ label }) => hasWords(label, text));
    return nonEmptyGroups([{ group: scope.attributes.name, isOfWorkspace: true, items: offered }], false);
  }
  const places = [
    ...navigationOf(organization, rights).flatMap(([, some]) => some),
    ...(rights?.["can-manage-auditing"] ? [["Audit webhooks", paths.auditWebhooks(organization)] as const] : []),
  ].map(toPageItem);
  const goTo = { group: "Go to", items: places.filter(({ label }) => hasWords(label, text)) };
  if (text === "") return nonEmptyGroups([...actions, goTo], false);
  const named = actions.map(({ items, ...group }) => ({
    ...group,
    items: items.filter(({ label, about = "" }) => hasWords(`${label} ${about}`, text)),
  }));
  const isMeant = named.some(({ items }) =>
    items.some(({ label }) => label.toLowerCase().startsWith(text.toLowerCase())),
  );
  const names = closestFirst(found.groups, text);
  const groups = isMeant ? [...named, ...names] : [...names, ...named];
  return nonEmptyGroups([...groups, ...onFound.groups, goTo], found.isSearching || onFound.isSearching);
}

const distanceOf = (label: string, text: string): number => {
  const [name, searched] = [label.toLowerCase(), text.toLowerCase()];
  return name === searched ? 0 : name.startsWith(searched) ? 1 : 2;
};

/** Enter after a person's name must not open a workspace that contains it. */
function closestFirst(groups: readonly ItemGroup[], text: string): ItemGroup[] {
  const nearest = ({ items }: ItemGroup) => Math.min(...items.map(({ label }) => distanceOf(label, text)));
  return groups
    .map(({ group, items }) => ({
      group,
      items: items.toSorted((one, other) => distanceOf(one.label, text) - distanceOf(other.label, text)),
    }))
    .toSorted((one, other) => nearest(one) - nearest(other));
}

const nonEmptyGroups = (groups: readonly ItemGroup[], isSearching: boolean): PaletteSearch => ({
  groups: groups.filter(({ items }) => items.length > 0),
  isSearching,
});

function useActions(organization: string, userId: string | undefined): ItemGroup[] {
  const name = useParams({ from: "/inside/$organization/workspaces/$workspace", shouldThrow: false })?.workspace;
  const here = useQuery({ ...workspaceNamed(organization, name ?? ""), enabled: name !== undefined }).data?.data;
  const rights = useRights(organization);
  const managed = useQuery(
    pagedQuery("GET /organizations/{organization_name}/projects", {
      path: { organization_name: organization },
      query: { "filter[permissions][update]": "true", "page[size]": 1 },
    }),
  );
  const own = here && name !== undefined ? workspaceActions(organization, here, userId) : [];
  return [
    {
      group: name ?? "",
      isOfWorkspace: true,
      items: own.map((action) => ({ ...toItem(action), id: idOf(`here-${action.label}`), workspace: here! })),
    },
    {
      group: "Actions",
      items: organizationActions(organization, rights, (managed.data?.data.length ?? 0) > 0).map(toItem),
    },
  ];
}

function useVerbSearch(organization: string, text: string, userId: string | undefined): PaletteSearch {
  const verbSearch = verbIn(text);
  const query = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/workspaces", {
      path: { organization_name: organization },
      query: { "search[name]": verbSearch?.rest ?? "", include: "project", "page[size]": resultsPerGroup },
    }),
    enabled: verbSearch !== undefined,
  });
  if (verbSearch === undefined) return { groups: [], isSearching: false };
  const items = (query.data?.data ?? []).flatMap((workspace) =>
    workspaceActions(organization, workspace, userId)
      .filter(({ label }) => startsWithVerb(label, verbSearch.verb))
      .map((action): PaletteItem => {
        const { name } = workspace.attributes;
        return { ...toItem(action), id: idOf(`do-${action.label}-${workspace.id}`), about: name, workspace };
      }),
  );
  return {
    groups: [{ group: "Workspace actions", items: items.slice(0, actionsMax) }],
    isSearching: query.isLoading || query.isPlaceholderData,
  };
}

/** "lock" matches "Lock" but not "Force-unlock". */
const startsWithVerb = (label: string, verb: string): boolean => {
  const words = label.toLowerCase().split(/[\s-]+/);
  return verb.split(/[\s-]+/).every((part) => words.some((word) => word.startsWith(part)));
};

function useNameSearch(organization: string, text: string): PaletteSearch {
  const enabled = text !== "";
  const path = { organization_name: organization };
  const size = { "page[size]": resultsPerGroup };
  const workspaces = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/workspaces", {
      path,
      query: { "search[name]": text, include: "project", ...size },
    }),
    enabled,
  });
  const projects = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/projects", { path, query: { q: text, ...size } }),
    enabled,
  });
  const teams = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/teams", { path, query: { q: text, ...size } }),
    enabled,
  });
  const people = useQuery({
    ...pagedQuery("GET /organizations/{organization_name}/organization-memberships", {
      path,
      query: { q: text, include: "user", ...size },
    }),
    enabled,
  });
  if (!enabled) return { groups: [], isSearching: false };
  const named = (included: readonly any[] | undefined, type: string, id: string | undefined) =>
    included?.find((one) => one.type === type && one.id === id)?.attributes;
  const itemOf = (id: string, label: string, to: string): PaletteItem => ({ id, label, action: { label, to } });
  const groups: ItemGroup[] = [
    {
      group: "Workspaces",
      items: (workspaces.data?.data ?? []).map((workspace) => {
        const { id, attributes, relationships } = workspace;
        const about = named(workspaces.data?.included, "projects", relationships.project?.data?.id)?.name;
        return { ...itemOf(id, attributes.name, paths.workspace(organization, attributes.name)), about, workspace };
      }),
    },
    {
      group: "Projects",
      items: (projects.data?.data ?? []).map(({ id, attributes: { name } }) =>
        itemOf(id, name, paths.project(organization, id)),
      ),
    },
    {
      group: "Teams",
      items: (teams.data?.data ?? []).map(({ id, attributes: { name } }) =>
        itemOf(id, name, paths.team(organization, id)),
      ),
    },
    {
      group: "People",
      items: (people.data?.data ?? []).flatMap(({ relationships, attributes: { email } }) => {
        const id = relationships.user?.data?.id;
        if (id === undefined) return [];
        const label = named(people.data?.included, "users", id)?.username || email;
        return [{ ...itemOf(id, label, paths.person(organization, id)), about: email }];
      }),
    },
  ];
  const isSearching = [workspaces, projects, teams, people].some((query) => query.isLoading || query.isPlaceholderData);
  return { groups, isSearching };
}
