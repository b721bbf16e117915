/** The measured requests, some with a target. */
import { type NextRequest, request } from "./client.ts";
import { memberToken, organizationName, type Population, type WritableWorkspaces } from "./population.ts";

export interface Case {
  readonly name: string;
  /** `writes`: not measured next to other writes. */
  readonly writes?: true;
  readonly connections: number;
  readonly next: NextRequest;
}

const connections = 16;
const list = `/organizations/${organizationName}/workspaces`;

const get = (path: string): Buffer => request("GET", `/api/v2${path}`, memberToken);
const always = (path: string): NextRequest => {
  const bytes = get(path);
  return () => bytes;
};

/** Cycles through the items. */
function inTurn(requests: readonly Buffer[]): NextRequest {
  let turn = 0;
  return () => requests[turn++ % requests.length]!;
}

let created = 0;

function creation(projectId: string): Buffer {
  created += 1;
  const data = {
    type: "workspaces",
    attributes: { name: `created-${process.pid}-${Date.now().toString(36)}-${created}` },
    relationships: { project: { data: { type: "projects", id: projectId } } },
  };
  return request("POST", `/api/v2${list}`, memberToken, { data });
}

/** Locks all of them in turn, then unlocks all. */
const locking = (workspaces: Population["workspaces"]): Buffer[] =>
  ["lock", "unlock"].flatMap((action) =>
    workspaces.map(({ id }) => request("POST", `/api/v2/workspaces/${id}/actions/${action}`, memberToken, {})),
  );

export function casesFor({ workspaces, projectId, member: { teamId, userId } }: Population): Case[] {
  const { id, name } = workspaces[Math.floor(workspaces.length / 2)]!;
  return [
    { name: "show", connections, next: always(`/workspaces/${id}`) },
    { name: "show, 500 in turn", connections, next: inTurn(workspaces.map((each) => get(`/workspaces/${each.id}`))) },
    { name: "show by name", connections, next: always(`${list}/${name}`) },
    { name: "list of 20", connections, next: always(`${list}?page[size]=20`) },
    { name: "list of 100", connections, next: always(`${list}?page[size]=100`) },
    { name: "search by name", connections, next: always(`${list}?search[name]=${name.slice(8, 13)}`) },
    { name: "list of projects", connections, next: always(`/organizations/${organizationName}/projects`) },
    { name: "reach of a team", connections, next: always(`/teams/${teamId}/reach?page[size]=20`) },
    {
      name: "reach of a person",
      connections,
      next: always(`/users/${userId}/reach?filter[organization][name]=${organizationName}&page[size]=20`),
    },
    { name: "create", connections, writes: true, next: () => creation(projectId) },
    { name: "create, one caller", connections: 1, writes: true, next: () => creation(projectId) },
    { name: "lock, unlock", connections, writes: true, next: inTurn(locking(workspaces)) },
  ];
}

/** The write load during the measurement of reads: changes descriptions in turn. */
export function changes({ workspaces, token }: WritableWorkspaces): NextRequest {
  let turn = 0;
  return () => {
    turn += 1;
    const { id } = workspaces[(turn * 7) % workspaces.length]!;
    const data = { type: "workspaces", attributes: { description: `change ${turn}` } };
    return request("PATCH", `/api/v2/workspaces/${id}`, token, { data });
  };
}
