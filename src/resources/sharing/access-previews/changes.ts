/**
 * Which requests are changes of access, and how each is read: as its own route would read it. What it names is told, so that it can
 * be known beforehand whom it concerns. Refuses whatever else is sent as a change.
 */
import type { Operation, Resource, ResourceDefinition } from "../../../jsonapi/define.ts";
import { parseBody } from "../../../jsonapi/input.ts";
import { matchPath, paramsOf } from "../../../jsonapi/paths.ts";
import { AppError, type Fault, invalid } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";

/** A change as it is sent. */
export interface SentChange {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export type NamedType =
  | "teams"
  | "projects"
  | "workspaces"
  | "team-projects"
  | "team-workspaces"
  | "organization-memberships";

/** A thing that a change names. */
export interface Named {
  readonly type: NamedType;
  readonly id: string;
}

/** A change that was read. */
export interface ReadChange extends SentChange {
  readonly operation: Operation;
  readonly handler: (request: unknown) => Promise<unknown>;
  readonly params: Readonly<Record<string, string>>;
  readonly input: unknown;
  /** The same without what has nothing to do with access. */
  readonly essence: unknown;
  readonly names: readonly Named[];
  /** The workspaces that it moves, and where to; by name, where the path has one. */
  readonly moves: { readonly to: string; readonly ids: readonly string[]; readonly name?: string } | undefined;
}

export const pointerOf = (position: number): string => `/data/attributes/changes/${position}`;

/** What a change of access looks like to us, once its own route's reader has read it. */
type Input = any;
type Params = Readonly<Record<string, string | undefined>>;

interface Kind {
  readonly names: (params: Params, input: Input) => readonly Named[];
  readonly moves?: (params: Params, input: Input) => NonNullable<ReadChange["moves"]>;
  /** What of the body changes access; left out where all of it does. */
  readonly essence?: (input: Input) => unknown;
  readonly faults?: (input: Input) => readonly Fault[];
}

const named = (type: NamedType, id: string | undefined): Named => ({ type, id: id ?? "" });

const onTeam: Kind = { names: ({ teamId }) => [named("teams", teamId)] };
const onProjectRecord: Kind = { names: ({ teamProjectId }) => [named("team-projects", teamProjectId)] };
const onWorkspaceRecord: Kind = { names: ({ teamWorkspaceId }) => [named("team-workspaces", teamWorkspaceId)] };

const movesOnly = (input: Input) => ({ attributes: {}, relationships: { project: input.relationships.project } });
const moveFaults = (input: Input): Fault[] =>
  typeof input.relationships.project === "string"
    ? []
    : [
        {
          pointer: "/data/relationships/project",
          detail:
            "Project can't be blank: a change of a workspace is one of access where it moves the workspace to another project",
        },
      ];

/** By the id of the operation. */
const kinds: Readonly<Record<string, Kind>> = {
  createTeamProject: {
    names: (_, { relationships: { team, project } }) => [named("teams", team), named("projects", project)],
  },
  updateTeamProject: onProjectRecord,
  deleteTeamProject: onProjectRecord,
  createTeamWorkspace: {
    names: (_, { relationships: { team, workspace } }) => [named("teams", team), named("workspaces", workspace)],
  },
  updateTeamWorkspace: onWorkspaceRecord,
  deleteTeamWorkspace: onWorkspaceRecord,
  addTeamUsers: onTeam,
  removeTeamUsers: onTeam,
  addTeamMemberships: onTeam,
  removeTeamMemberships: onTeam,
  updateTeam: {
    ...onTeam,
    essence: ({ attributes: { organizationAccess, visibility } }) => ({
      attributes: { ...(organizationAccess && { organizationAccess }), ...(visibility && { visibility }) },
      relationships: {},
    }),
  },
  deleteTeam: onTeam,
  deleteOrganizationMembership: { names: ({ membershipId }) => [named("organization-memberships", membershipId)] },
  updateWorkspace: {
    names: ({ workspaceId }) => [named("workspaces", workspaceId)],
    moves: ({ workspaceId = "" }, { relationships }) => ({ to: relationships.project, ids: [workspaceId] }),
    essence: movesOnly,
    faults: moveFaults,
  },
  updateWorkspaceByName: {
    names: () => [],
    moves: ({ workspaceName = "" }, { relationships }) => ({ to: relationships.project, ids: [], name: workspaceName }),
    essence: movesOnly,
    faults: moveFaults,
  },
  moveWorkspaces: {
    names: ({ projectId }, input: readonly { id: string }[]) => [
      named("projects", projectId),
      ...input.map(({ id }) => named("workspaces", id)),
    ],
    moves: ({ projectId = "" }, input: readonly { id: string }[]) => ({
      to: projectId,
      ids: input.map(({ id }) => id),
    }),
  },
};

interface Offered {
  readonly id: string;
  readonly kind: Kind;
  readonly operation: Operation;
  readonly definition: ResourceDefinition;
  readonly handler: ReadChange["handler"];
}

export type ChangeReader = (changes: readonly SentChange[]) => ReadChange[];

/** Reads changes as these resources' own routes would. Raises `invalid` with every fault of all of them. */
export function changeReader(resources: readonly Resource<Context>[]): ChangeReader {
  const offered = resources.flatMap(({ definition, handlers }) =>
    Object.entries(definition.operations).flatMap(([id, operation]): Offered[] => {
      const [kind, handler] = [kinds[id], handlers[id]];
      return kind === undefined || handler === undefined ? [] : [{ id, kind, operation, definition, handler }];
    }),
  );
  const missing = Object.keys(kinds).filter((id) => offered.every((one) => one.id !== id));
  if (missing.length > 0) throw new Error(`previews know of operations that nobody offers: ${missing.join(", ")}`);
  return (changes) => {
    const faults: Fault[] = [];
    const read = changes.map((change, position) => {
      try {
        return readChange(offered, change);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid") throw error;
        faults.push(...faultsOf(error, position));
        return undefined;
      }
    });
    if (faults.length > 0) throw invalid(faults);
    return read as ReadChange[];
  };
}

/** A change's own faults, at their place in the request. */
export const faultsOf = ({ faults }: AppError, position: number, below = ""): Fault[] =>
  faults.map(({ detail, pointer }) => ({
    detail,
    pointer: `${pointerOf(position)}${pointer === undefined ? "" : `${below}${pointer}`}`,
  }));

function readChange(offered: readonly Offered[], change: SentChange): ReadChange {
  const path = change.path.replace(/^\/api\/v2(?=\/)/, "");
  const atPath = offered.flatMap((one) => {
    const params = matchPath(one.operation.path, path);
    return params === undefined ? [] : [{ ...one, params: paramsOf(params) }];
  });
  const found = atPath.find(({ operation }) => operation.method === change.method);
  if (found === undefined) throw invalid([notOffered(offered, atPath)]);
  const { kind, operation, definition, handler, params } = found;
  const input = inputOf(kind, definition, operation, change.body);
  return {
    ...change,
    operation,
    handler,
    params,
    input,
    essence: kind.essence?.(input) ?? input,
    names: kind.names(params, input),
    moves: kind.moves?.(params, input),
  };
}

function notOffered(offered: readonly Offered[], atPath: readonly Offered[]): Fault {
  const told = (all: readonly Offered[], what: (one: Offered) => string) => [...new Set(all.map(what))].join(", ");
  if (atPath.length > 0)
    return {
      pointer: "/method",
      detail: `Method must be one of: ${told(atPath, ({ operation }) => operation.method)}, for a change of access at this path`,
    };
  return {
    pointer: "/path",
    detail: `Path must be that of a change of access; these are: ${told(offered, ({ operation: { method, path } }) => `${method} ${path}`)}`,
  };
}

/** The body as the route reads it. Raises `invalid`, with pointers below the change. */
function inputOf(kind: Kind, definition: ResourceDefinition, operation: Operation, body: unknown): unknown {
  const below = (faults: readonly Fault[]): Fault[] =>
    faults.map((fault) => ({ ...fault, pointer: `/body${fault.pointer ?? ""}` }));
  let input: unknown;
  try {
    input = operation.body === undefined ? undefined : parseBody(definition, operation.body, body);
  } catch (error) {
    throw error instanceof AppError ? invalid(below(error.faults)) : error;
  }
  const faults = kind.faults?.(input) ?? [];
  if (faults.length > 0) throw invalid(below(faults));
  return input;
}
