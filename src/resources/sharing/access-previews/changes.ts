/** Parses the changes of a preview request like requests to their own routes. It refuses every other operation. */
import type { Operation, MountedResource, ResourceDefinition } from "../../../jsonapi/define.ts";
import { parseBody } from "../../../jsonapi/input.ts";
import { matchPath, paramsOf } from "../../../jsonapi/paths.ts";
import { AppError, type Fault, invalid } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";

export interface AccessChangeRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export type ReferencedType =
  | "teams"
  | "projects"
  | "workspaces"
  | "team-projects"
  | "team-workspaces"
  | "organization-memberships";

export interface ReferencedResource {
  readonly type: ReferencedType;
  readonly id: string;
}

export interface ParsedChange extends AccessChangeRequest {
  readonly operation: Operation;
  readonly handler: (request: unknown) => Promise<unknown>;
  readonly params: Readonly<Record<string, string>>;
  readonly input: unknown;
  readonly accessInput: unknown;
  readonly references: readonly ReferencedResource[];
  /** `name`: of the workspace, if the path has it. */
  readonly moves: { readonly to: string; readonly ids: readonly string[]; readonly name?: string } | undefined;
}

export const pointerOf = (position: number): string => `/data/attributes/changes/${position}`;

type ChangeInput = any;
type ChangeParams = Readonly<Record<string, string | undefined>>;

interface ChangeKind {
  readonly references: (params: ChangeParams, input: ChangeInput) => readonly ReferencedResource[];
  readonly moves?: (params: ChangeParams, input: ChangeInput) => NonNullable<ParsedChange["moves"]>;
  /** Absent if all of the body changes access. */
  readonly accessInput?: (input: ChangeInput) => unknown;
  readonly faults?: (input: ChangeInput) => readonly Fault[];
}

const reference = (type: ReferencedType, id: string | undefined): ReferencedResource => ({ type, id: id ?? "" });

const onTeam: ChangeKind = { references: ({ teamId }) => [reference("teams", teamId)] };
const onProjectRecord: ChangeKind = { references: ({ teamProjectId }) => [reference("team-projects", teamProjectId)] };
const onWorkspaceRecord: ChangeKind = {
  references: ({ teamWorkspaceId }) => [reference("team-workspaces", teamWorkspaceId)],
};

const movesOnly = (input: ChangeInput) => ({ attributes: {}, relationships: { project: input.relationships.project } });
const moveFaults = (input: ChangeInput): Fault[] =>
  typeof input.relationships.project === "string"
    ? []
    : [
        {
          pointer: "/data/relationships/project",
          detail:
            "Project can't be blank. An update of a workspace can only be previewed if it moves the workspace to another project",
        },
      ];

const kinds: Readonly<Record<string, ChangeKind>> = {
  createTeamProject: {
    references: (_, { relationships: { team, project } }) => [reference("teams", team), reference("projects", project)],
  },
  updateTeamProject: onProjectRecord,
  deleteTeamProject: onProjectRecord,
  createTeamWorkspace: {
    references: (_, { relationships: { team, workspace } }) => [
      reference("teams", team),
      reference("workspaces", workspace),
    ],
  },
  updateTeamWorkspace: onWorkspaceRecord,
  deleteTeamWorkspace: onWorkspaceRecord,
  addTeamUsers: onTeam,
  removeTeamUsers: onTeam,
  addTeamMemberships: onTeam,
  removeTeamMemberships: onTeam,
  updateTeam: {
    ...onTeam,
    accessInput: ({ attributes: { organizationAccess, visibility, allowMemberTokenManagement } }) => ({
      attributes: {
        ...(organizationAccess && { organizationAccess }),
        ...(visibility && { visibility }),
        ...(allowMemberTokenManagement !== undefined && { allowMemberTokenManagement }),
      },
      relationships: {},
    }),
  },
  deleteTeam: onTeam,
  deleteOrganizationMembership: {
    references: ({ membershipId }) => [reference("organization-memberships", membershipId)],
  },
  updateWorkspace: {
    references: ({ workspaceId }) => [reference("workspaces", workspaceId)],
    moves: ({ workspaceId = "" }, { relationships }) => ({ to: relationships.project, ids: [workspaceId] }),
    accessInput: movesOnly,
    faults: moveFaults,
  },
  updateWorkspaceByName: {
    references: () => [],
    moves: ({ workspaceName = "" }, { relationships }) => ({ to: relationships.project, ids: [], name: workspaceName }),
    accessInput: movesOnly,
    faults: moveFaults,
  },
  moveWorkspaces: {
    references: ({ projectId }, input: readonly { id: string }[]) => [
      reference("projects", projectId),
      ...input.map(({ id }) => reference("workspaces", id)),
    ],
    moves: ({ projectId = "" }, input: readonly { id: string }[]) => ({
      to: projectId,
      ids: input.map(({ id }) => id),
    }),
  },
};

interface PreviewableOperation {
  readonly id: string;
  readonly kind: ChangeKind;
  readonly operation: Operation;
  readonly definition: ResourceDefinition;
  readonly handler: ParsedChange["handler"];
}

export type ChangeParser = (changes: readonly AccessChangeRequest[]) => ParsedChange[];

/** Throws `invalid` with the faults of all changes. */
export function createChangeParser(resources: readonly MountedResource<Context>[]): ChangeParser {
  const previewable = resources.flatMap(({ definition, handlers }) =>
    Object.entries(definition.operations).flatMap(([id, operation]): PreviewableOperation[] => {
      const [kind, handler] = [kinds[id], handlers[id]];
      return kind === undefined || handler === undefined ? [] : [{ id, kind, operation, definition, handler }];
    }),
  );
  const missing = Object.keys(kinds).filter((id) => previewable.every((one) => one.id !== id));
  if (missing.length > 0)
    throw new Error(`access previews list operations that no resource offers: ${missing.join(", ")}`);
  return (changes) => {
    const faults: Fault[] = [];
    const parsed = changes.map((change, position) => {
      try {
        return parseChange(previewable, change);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid") throw error;
        faults.push(...faultsOf(error, position));
        return undefined;
      }
    });
    if (faults.length > 0) throw invalid(faults);
    return parsed as ParsedChange[];
  };
}

export const faultsOf = ({ faults }: AppError, position: number, below = ""): Fault[] =>
  faults.map(({ detail, pointer }) => ({
    detail,
    pointer: `${pointerOf(position)}${pointer === undefined ? "" : `${below}${pointer}`}`,
  }));

function parseChange(previewable: readonly PreviewableOperation[], change: AccessChangeRequest): ParsedChange {
  const path = change.path.replace(/^\/api\/v2(?=\/)/, "");
  const atPath = previewable.flatMap((one) => {
    const params = matchPath(one.operation.path, path);
    return params === undefined ? [] : [{ ...one, params: paramsOf(params) }];
  });
  const found = atPath.find(({ operation }) => operation.method === change.method);
  if (found === undefined) throw invalid([notPreviewableFault(previewable, atPath)]);
  const { kind, operation, definition, handler, params } = found;
  const input = inputOf(kind, definition, operation, change.body);
  return {
    ...change,
    operation,
    handler,
    params,
    input,
    accessInput: kind.accessInput?.(input) ?? input,
    references: kind.references(params, input),
    moves: kind.moves?.(params, input),
  };
}

function notPreviewableFault(
  previewable: readonly PreviewableOperation[],
  atPath: readonly PreviewableOperation[],
): Fault {
  const listed = (all: readonly PreviewableOperation[], what: (one: PreviewableOperation) => string) =>
    [...new Set(all.map(what))].join(", ");
  if (atPath.length > 0)
    return {
      pointer: "/method",
      detail: `Method must be one of: ${listed(atPath, ({ operation }) => operation.method)}, for a change of access at this path`,
    };
  return {
    pointer: "/path",
    detail: `Path must be that of a change of access, which are: ${listed(previewable, ({ operation: { method, path } }) => `${method} ${path}`)}`,
  };
}

/** Pointers are below the change. */
function inputOf(kind: ChangeKind, definition: ResourceDefinition, operation: Operation, body: unknown): unknown {
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
