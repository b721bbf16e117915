/** The API operations on workspaces. Most exist twice: by id, and by organization and name. */
import { z } from "zod";
import type { Operation } from "../../../jsonapi/define.ts";
import {
  type IndexedParameter,
  listParameter,
  type Parameter,
  searchParameter,
  textParameter,
  InvalidParameter,
} from "../../../jsonapi/query.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { ageMs, now } from "../../../kernel/time.ts";
import { type LeaseBody, leaseFromBody } from "./lock-holder.ts";

const byId = "/workspaces/:workspace_id";
const byName = "/organizations/:organization_name/workspaces/:workspace_name";

const workspaceIncludes = [
  "current_configuration_version",
  "current_configuration_version.ingress_attributes",
  "current_run",
  "current_run.configuration_version",
  "current_run.configuration_version.ingress_attributes",
  "current_run.plan",
  "locked_by",
  "organization",
  "outputs",
  "project",
  "readme",
  // Extensions of the specification.
  "current_state_version",
  "effective_tag_bindings",
] as const;

const taggedFilters: IndexedParameter<"key" | "value"> = {
  doc: "Returns only workspaces with this key-value tag, set on the workspace or inherited from its project. Number further tags 1, 2, …; a workspace must have all of them. An empty value matches any value.",
  members: ["key", "value"],
  max: 25,
};

const lockAge: Parameter<number> = {
  doc: "Returns only workspaces that have been locked for longer than this: `30m`, `2h` or `1d`. `0m` returns all locked workspaces.",
  parse: (value) =>
    ageMs(value) ??
    new InvalidParameter("must be a whole number of minutes, hours or days, up to five digits, such as 30m, 2h or 1d"),
};

const idsMax = 100;
const idsParameter: Parameter<string[]> = {
  doc: `Returns only the workspaces with these ids, separated by commas; at most ${idsMax}.`,
  parse: (value) => {
    const ids = value.split(",");
    return ids.length > idsMax ? new InvalidParameter(`can have at most ${idsMax} ids, not ${ids.length}`) : ids;
  },
};

const create = {
  method: "POST",
  path: "/organizations/:organization_name/workspaces",
  summary: "Create a workspace",
  needs:
    "'create' on the project's workspaces: owners, teams with 'manage-workspaces' or 'manage-projects', project admins and maintainers, the organization's token",
  body: "create",
  answer: "created",
  example: { data: { type: "workspaces", attributes: { name: "network-production", "auto-apply": true } } },
} as const satisfies Operation;

const list = {
  method: "GET",
  path: "/organizations/:organization_name/workspaces",
  summary: "List workspaces",
  needs: "a member; lists the workspaces that the caller can read",
  query: {
    paged: true,
    include: workspaceIncludes,
    sort: ["name", "current-run.created-at", "latest-change-at"],
    parameters: {
      "search[name]": searchParameter("the name"),
      "search[tags]": listParameter(
        "Returns only workspaces with all of these tags, separated by commas. The keys of a workspace's own and its project's key-value tags match too.",
      ),
      "search[exclude-tags]": listParameter("Returns only workspaces with none of these tags, separated by commas."),
      "search[wildcard-name]": textParameter(
        "Returns only workspaces whose whole name matches this pattern, ignoring case. `*` matches any text; at most ten are allowed.",
      ),
      "filter[id]": idsParameter,
      "filter[project][id]": textParameter("Returns only workspaces of this project."),
      "filter[locked-longer-than]": lockAge,
      "filter[current-run][status]": listParameter(
        "Returns only workspaces whose current run has one of these statuses, separated by commas.",
      ),
    },
    indexed: { "filter[tagged]": taggedFilters },
  },
  answer: "list",
} as const satisfies Operation;

const show = {
  method: "GET",
  path: byId,
  summary: "Show a workspace",
  needs: "read access to the workspace's runs",
  callers: "runs",
  query: { include: workspaceIncludes },
  answer: "document",
} as const satisfies Operation;

const update = {
  method: "PATCH",
  path: byId,
  summary: "Update a workspace",
  needs: "admin access to the workspace; moving it needs admin access to both projects",
  body: "update",
  answer: "document",
  mayWarn: true,
  example: { data: { type: "workspaces", attributes: { description: "Networks in production" } } },
} as const satisfies Operation;

const safeDelete = {
  method: "POST",
  path: `${byId}/actions/safe-delete`,
  summary: "Delete a workspace that manages no resources",
  needs: "admin access to the workspace, or 'delete' on the project's workspaces",
  answer: "nothing",
} as const satisfies Operation;

const forceDelete = {
  method: "DELETE",
  path: byId,
  summary: "Force-delete a workspace, even if it manages resources",
  needs: "an owner; admin access to the workspace where the organization allows it",
  answer: "nothing",
} as const satisfies Operation;

const reason = text({ max: 1024 }).nullable().optional();
/** In seconds. 30 days are long enough for a change freeze. */
const leaseMin = 30;
const leaseMax = 30 * 86_400;
const leaseSeconds = wholeNumber({ min: leaseMin, max: leaseMax }).nullable().optional();
const leaseEnd = timestamp()
  .refine((end) => isLease((Date.parse(end) - Date.parse(now())) / 1000), {
    error: "must be between 30 seconds and 30 days from now",
  })
  .nullable()
  .optional();
const isLease = (seconds: number) => seconds >= leaseMin && seconds <= leaseMax;

const leaseAttributes = { "lease-seconds": leaseSeconds, "expires-at": leaseEnd };
const lockAttributes = { reason, ...leaseAttributes };

/** Clients send the attributes at the top of the body or in `data`. */
function lockBody<Shape extends typeof leaseAttributes>(shape: Shape) {
  return z
    .object({ ...shape, data: z.object({ attributes: z.object(shape).optional() }).optional() })
    .superRefine((sent, context) => {
      const body = sent as LeaseBody;
      const { seconds, expiresAt } = leaseFromBody(body);
      if (seconds == null || expiresAt == null) return;
      const path = [...(body["expires-at"] == null ? ["data", "attributes"] : []), "expires-at"];
      const message = "can't be sent together with lease-seconds: send one of them";
      context.addIssue({ code: "custom", path, message });
    })
    .optional();
}

export const workspaceOperations = {
  createWorkspace: create,
  listWorkspaces: list,
  showWorkspace: show,
  showWorkspaceByName: { ...show, path: byName, summary: "Show a workspace by name" },
  updateWorkspace: update,
  updateWorkspaceByName: { ...update, path: byName, summary: "Update a workspace by name" },
  safeDeleteWorkspace: safeDelete,
  safeDeleteWorkspaceByName: {
    ...safeDelete,
    path: `${byName}/actions/safe-delete`,
    summary: "Delete a workspace that manages no resources, by name",
  },
  deleteWorkspace: forceDelete,
  deleteWorkspaceByName: { ...forceDelete, path: byName, summary: "Force-delete a workspace by name" },
  lockWorkspace: {
    method: "POST",
    path: `${byId}/actions/lock`,
    summary: "Lock a workspace",
    needs: "the permission to lock; not with an organization's token",
    body: {
      custom: lockBody(lockAttributes),
      optional: true,
    },
    answer: "document",
    example: { reason: "Rotating the keys", "lease-seconds": 900 },
  },
  renewWorkspaceLock: {
    method: "POST",
    path: `${byId}/actions/renew-lock`,
    summary: "Renew the lease of a workspace's lock",
    needs: "the permission to lock, and the lock; not with an organization's token",
    body: {
      custom: lockBody(leaseAttributes),
      optional: true,
    },
    answer: "document",
    example: { "lease-seconds": 900 },
  },
  unlockWorkspace: {
    method: "POST",
    path: `${byId}/actions/unlock`,
    summary: "Unlock a workspace that the caller locked",
    needs: "the permission to unlock, and the lock; not with an organization's token",
    answer: "document",
  },
  forceUnlockWorkspace: {
    method: "POST",
    path: `${byId}/actions/force-unlock`,
    summary: "Force-unlock a workspace that another user or a team locked",
    needs: "admin access to the workspace",
    answer: "document",
  },
  assignSshKey: {
    method: "PATCH",
    path: `${byId}/relationships/ssh-key`,
    ifMatch: true,
    summary: "Assign or remove a workspace's SSH key",
    needs: "admin access to the workspace",
    body: {
      custom: z.object({
        data: z.object({
          type: z.literal("workspaces"),
          attributes: z.object({ id: text({ min: 1, max: 256 }).nullable() }),
        }),
      }),
    },
    answer: "document",
    example: { data: { type: "workspaces", attributes: { id: null } } },
  },
} as const satisfies Record<string, Operation>;
