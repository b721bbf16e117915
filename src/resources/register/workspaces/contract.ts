/** The operations on workspaces. Those by id and those by organization and name are the same, in two places. */
import { z } from "zod";
import type { Operation } from "../../../jsonapi/define.ts";
import {
  type IndexedParameter,
  listParameter,
  type Parameter,
  searchParameter,
  textParameter,
  Unusable,
} from "../../../jsonapi/query.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { ageMs, now } from "../../../kernel/time.ts";
import { type LeaseBody, leaseIn } from "./holder.ts";

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
  // Beyond the specification, for clients that show states and key-value tags.
  "current_state_version",
  "effective_tag_bindings",
] as const;

const taggedFilters: IndexedParameter<"key" | "value"> = {
  doc: "Only workspaces with this key-value tag, their own or their project's; further ones are numbered 1, 2, …, and all are required. An empty value stands for any.",
  members: ["key", "value"],
  max: 25,
};

const lockAge: Parameter<number> = {
  doc: "Only workspaces that have been locked for longer than this: `30m`, `2h` or `1d`; with `0m` all that are locked.",
  parse: (value) =>
    ageMs(value) ??
    new Unusable("must be a whole number of minutes, hours or days, up to five digits, such as 30m, 2h or 1d"),
};

const idsMax = 100;
const idsParameter: Parameter<string[]> = {
  doc: `Only these workspaces, by their ids, comma-separated; at most ${idsMax}.`,
  parse: (value) => {
    const ids = value.split(",");
    return ids.length > idsMax ? new Unusable(`can name at most ${idsMax} ids, not ${ids.length}`) : ids;
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
  needs: "a member; shows the workspaces that the caller may read",
  query: {
    paged: true,
    include: workspaceIncludes,
    sort: ["name", "current-run.created-at", "latest-change-at"],
    parameters: {
      "search[name]": searchParameter("the name"),
      "search[tags]": listParameter(
        "Tags, comma-separated; all are required. The keys of its own and its project's key-value tags count as well.",
      ),
      "search[exclude-tags]": listParameter("The same; none may be there."),
      "search[wildcard-name]": textParameter(
        "A whole name in which `*`, up to ten of them, stands for any text; ignoring case.",
      ),
      "filter[id]": idsParameter,
      "filter[project][id]": textParameter("Only workspaces of this project."),
      "filter[locked-longer-than]": lockAge,
      "filter[current-run][status]": listParameter(
        "Only workspaces whose current run has this status; comma-separated for any of several.",
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
  summary: "Change a workspace",
  needs: "admin access to the workspace; moving it needs admin access to both projects",
  body: "update",
  answer: "document",
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
  summary: "Delete a workspace, whatever it manages",
  needs: "an owner; admin access to the workspace where the organization allows it",
  answer: "nothing",
} as const satisfies Operation;

const reason = text({ max: 1024 }).nullable().optional();
/** A day was the most at first; a change freeze takes longer. A lock without a lease is for what has no end. */
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

/** The attributes of a lock or its renewal, at the top of the body or in `data`. */
function lockBody<Shape extends typeof leaseAttributes>(shape: Shape) {
  return z
    .object({ ...shape, data: z.object({ attributes: z.object(shape).optional() }).optional() })
    .superRefine((sent, context) => {
      const body = sent as LeaseBody;
      const { seconds, expiresAt } = leaseIn(body);
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
  showWorkspaceByName: { ...show, path: byName, summary: "Show a workspace, by its name" },
  updateWorkspace: update,
  updateWorkspaceByName: { ...update, path: byName, summary: "Change a workspace, by its name" },
  safeDeleteWorkspace: safeDelete,
  safeDeleteWorkspaceByName: {
    ...safeDelete,
    path: `${byName}/actions/safe-delete`,
    summary: "Delete a workspace that manages no resources, by its name",
  },
  deleteWorkspace: forceDelete,
  deleteWorkspaceByName: { ...forceDelete, path: byName, summary: "Delete a workspace, by its name" },
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
    summary: "Renew a lock that was given for a time",
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
    summary: "Unlock a workspace, whoever locked it",
    needs: "admin access to the workspace",
    answer: "document",
  },
  assignSshKey: {
    method: "PATCH",
    path: `${byId}/relationships/ssh-key`,
    ifMatch: true,
    summary: "Assign an SSH key, or none",
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
