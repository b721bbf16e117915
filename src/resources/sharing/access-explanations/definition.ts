/** An access explanation: each permission of a subject on a project or workspace, with the grants that give it. */
import { z } from "zod";
import type { AccessExplanation, GrantSource } from "../../../access/explain.ts";
import { type Permission, permissionNames } from "../../../access/permission-set.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { kebab } from "../../../kernel/names.ts";

export interface ExplainedSubject {
  readonly type: "users" | "teams" | "organizations";
  readonly id: string;
  readonly name: string;
}

export interface ExplanationView {
  readonly subject: ExplainedSubject;
  readonly organizationName: string;
  readonly projectId: string;
  readonly workspaceId: string | null;
  readonly explanation: AccessExplanation;
  readonly can: Readonly<Record<string, boolean>>;
}

export const source = z.object({
  kind: z.enum([
    "site-admin",
    "organization-token",
    "ownership",
    "organization-permission",
    "team-project",
    "team-workspace",
  ]),
  type: z.string(),
  id: z.string(),
  team: z.object({ id: z.string(), name: z.string() }).optional(),
  permission: z.string().optional(),
  level: z.string().optional(),
  until: z.string().nullable().optional(),
  reason: z.string().nullable().optional(),
  /** For example `by the group X of PROVIDER`. */
  membership: z.string().optional(),
  links: z.object({ related: z.string() }),
});

const explained = z.object({
  value: z.union([z.string(), z.boolean()]),
  until: z.string().nullable(),
  "given-by": z.array(source),
});
const permissions = z.object(
  Object.fromEntries(permissionNames.map((name): [string, typeof explained] => [kebab(name), explained])),
);

export function sourceOf(
  from: GrantSource,
  view: Pick<ExplanationView, "subject" | "organizationName">,
): z.output<typeof source> {
  const { subject, organizationName } = view;
  const linked = (type: string, id: string) => ({ type, id, links: { related: `/api/v2/${type}/${id}` } });
  switch (from.kind) {
    case "site-admin":
      return { kind: from.kind, ...linked("users", subject.id) };
    case "organization-token":
      return { kind: from.kind, ...linked("organizations", organizationName) };
  }
  const { kind, team, until, reason, membership } = from;
  const duration = { until, reason, ...(membership !== undefined && { membership }) };
  switch (kind) {
    case "ownership":
      return { kind, ...linked("teams", team.id), team, ...duration };
    case "organization-permission":
      return { kind, ...linked("teams", team.id), team, permission: from.permission, ...duration };
    default:
      return { kind, ...linked(`${kind}s`, from.recordId), team, level: from.level, ...duration };
  }
}

function shownPermissions(view: ExplanationView): Record<string, z.output<typeof explained>> {
  return Object.fromEntries(
    Object.entries(view.explanation.permissions).map(([name, { value, until, givenBy }]) => [
      kebab(name as Permission),
      { value, until, "given-by": givenBy.map((from) => sourceOf(from, view)) },
    ]),
  );
}

const subjectFilters = {
  "filter[team][id]": textParameter(
    "Explains the access of this team instead of the caller's; needs permission to manage access.",
  ),
  "filter[user][id]": textParameter(
    "Explains the access of this user instead of the caller's; needs permission to manage access.",
  ),
};

const explaining = {
  method: "GET",
  query: { parameters: subjectFilters },
  answer: "document",
} as const satisfies Partial<Operation>;

const listing = { method: "GET", query: { paged: true }, answer: "list" } as const satisfies Partial<Operation>;

export const subjectShown = {
  id: ({ subject }: ShownAccess) => subject.id,
  type: ({ subject }: ShownAccess) => subject.type,
  related: ({ subject }: ShownAccess) => `/api/v2/${subject.type}/${subject.id}`,
};
export const projectShown = {
  id: ({ projectId }: ShownAccess) => projectId,
  related: ({ projectId }: ShownAccess) => `/api/v2/projects/${projectId}`,
};
type ShownAccess = Pick<ExplanationView, "subject" | "projectId">;

export const accessExplanations = defineResource<ExplanationView>()(({ readOnly, toOne }) => ({
  type: "access-explanations",
  doc: "What a user, team or token can do to a project or workspace, and which grants give each permission.",
  id: (view) => `${view.workspaceId ?? view.projectId}:${view.subject.id}`,
  attributes: {
    "subject-name": readOnly(text(), "The name of the user, team or organization whose access is explained.", {
      from: (view) => view.subject.name,
    }),
    permissions: readOnly(
      permissions,
      "Each permission: its value, when it expires, and the grants that give it, each with its expiry and reason.",
      {
        from: shownPermissions,
      },
    ),
    can: readOnly(z.record(z.string(), z.boolean()), "The actions that follow from the permissions."),
  },
  relationships: {
    subject: toOne(
      ["users", "teams", "organizations"],
      "The user or team; for an organization token, the organization.",
      subjectShown,
    ),
    project: toOne("projects", "The project, or the workspace's project.", projectShown),
    workspace: toOne("workspaces", "The workspace, unless the explanation is about a project.", {
      id: (view) => view.workspaceId ?? undefined,
      related: (view) => (view.workspaceId === null ? undefined : `/api/v2/workspaces/${view.workspaceId}`),
    }),
  },
  operations: {
    explainProjectAccess: {
      ...explaining,
      path: "/projects/:project_id/access",
      summary: "Explain the access of the caller, a team or a user to a project",
      needs: "read access to the project; 'manage' on its teams to query others",
    },
    explainWorkspaceAccess: {
      ...explaining,
      path: "/workspaces/:workspace_id/access",
      summary: "Explain the access of the caller, a team or a user to a workspace",
      needs: "read access to the workspace; admin access to it to query others",
    },
    listProjectTeamAccess: {
      ...listing,
      path: "/projects/:project_id/team-access",
      summary: "List the teams with access to a project, and the sources of their access",
      needs:
        "read access to the project; shows visible teams and the caller's own, and all teams to callers with 'read' on its teams",
    },
    listWorkspaceTeamAccess: {
      ...listing,
      path: "/workspaces/:workspace_id/team-access",
      summary: "List the teams with access to a workspace, and the sources of their access",
      needs:
        "read access to the workspace; shows visible teams and the caller's own, and all teams to its admins and to callers with 'read' on its project's teams",
    },
  },
}));
