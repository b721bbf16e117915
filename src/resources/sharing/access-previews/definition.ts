/** An access preview: who would gain and lose access by some changes, and whether the caller can make them. */
import { z } from "zod";
import type { RuleMatch } from "../../shared/hooks.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, oneOf, text, wholeNumber } from "../../../jsonapi/schemas.ts";

const changesMax = 100;
export const namedMax = 10;

export interface PreviewedChange {
  readonly method: string;
  readonly path: string;
  readonly allowed: boolean;
  /** The error of the change's own route. */
  readonly refusal: string | null;
  readonly rules: readonly z.infer<typeof matchedRule>[];
}

/** `named`: the first targets that the caller can see. */
export interface PermissionShare {
  readonly permissions: readonly string[];
  readonly count: number;
  readonly named: readonly { readonly id: string; readonly name: string }[];
}

export interface SubjectDifference {
  readonly subject: { readonly type: "teams" | "users"; readonly id: string; readonly name: string };
  readonly organization: readonly string[];
  readonly projects: readonly PermissionShare[];
  readonly workspaces: readonly PermissionShare[];
}

export interface HiddenCounts {
  readonly teams: number;
  readonly users: number;
}

export interface DescribedEffects {
  readonly gains: readonly SubjectDifference[];
  readonly losses: readonly SubjectDifference[];
  readonly unseenGains: HiddenCounts;
  readonly unseenLosses: HiddenCounts;
}

export interface PreviewView extends DescribedEffects {
  readonly id: string;
  readonly organizationName: string;
  readonly accessVersion: string;
  readonly applied: boolean;
  readonly allowed: boolean;
  readonly changes: readonly PreviewedChange[];
}

export const matchedRule = z.object({
  id: z.string(),
  name: z.string(),
  message: z.string(),
  enforcement: z.enum(["forbid", "approval", "advise"]),
});

export const shownRule = ({ rule, message }: RuleMatch): z.infer<typeof matchedRule> => ({ ...rule, message });

const previewedChange = z.object({
  method: z.string(),
  path: z.string(),
  allowed: z.boolean(),
  refusal: z.string().nullable(),
  rules: z.array(matchedRule),
});

const share = z.object({
  permissions: z.array(z.string()),
  count: wholeNumber(),
  named: z.array(z.object({ id: z.string(), name: z.string() })).max(namedMax),
});

export const accessDifference = z.object({
  subject: z.object({ type: z.enum(["teams", "users"]), id: z.string(), name: z.string() }),
  organization: z.array(z.string()),
  projects: z.array(share),
  "project-count": wholeNumber(),
  workspaces: z.array(share),
  "workspace-count": wholeNumber(),
});

export const hiddenCounts = z.object({ teams: wholeNumber(), users: wholeNumber() });

const totalOf = (shares: readonly PermissionShare[]): number => shares.reduce((total, { count }) => total + count, 0);

export const shownDifferences = (differences: readonly SubjectDifference[]) =>
  differences.map(({ subject, organization, projects, workspaces }) => ({
    subject,
    organization,
    projects,
    "project-count": totalOf(projects),
    workspaces,
    "workspace-count": totalOf(workspaces),
  }));

export const accessChange = z.object({
  method: oneOf(["POST", "PATCH", "DELETE"]),
  path: text({ min: 1, max: 1024 }),
  body: z.unknown().optional(),
});

const previewAttributes = z
  .object({
    changes: z.array(accessChange).min(1, { error: "must contain at least one change" }).max(changesMax),
    "access-version": text({ min: 1, max: 256 }).nullable().optional(),
    apply: flag().optional(),
  })
  .refine((attributes) => attributes.apply !== true || typeof attributes["access-version"] === "string", {
    path: ["access-version"],
    error: "can't be blank if the changes are to be applied. Send the one from their preview",
  });

export const accessPreviews = defineResource<PreviewView>()(({ readOnly, toOne }) => ({
  type: "access-previews",
  doc: "What changes of access would give to each team and user, and take from them, before they are made. Previews are not stored.",
  id: (view) => view.id,
  attributes: {
    "access-version": readOnly(
      text(),
      "Changes with every change of access in the organization. Send it back to apply the previewed changes.",
    ),
    applied: readOnly(flag(), "Whether the changes were applied."),
    allowed: readOnly(flag(), "Whether the caller can make all of the changes."),
    changes: readOnly(
      z.array(previewedChange),
      "Each change: whether the caller can make it and, if not, why; and the access rules that match it.",
    ),
    gains: readOnly(
      z.array(accessDifference),
      `What each team and user would gain: permissions on the organization, and on how many projects and workspaces. The first ${namedMax} that the caller can see are named.`,
      { from: (view) => shownDifferences(view.gains) },
    ),
    losses: readOnly(z.array(accessDifference), "What each team and user would lose, in the same form as `gains`.", {
      from: (view) => shownDifferences(view.losses),
    }),
    "unseen-gains": readOnly(
      hiddenCounts,
      "The number of other teams and users that would gain something, which the caller can't see.",
    ),
    "unseen-losses": readOnly(
      hiddenCounts,
      "The number of other teams and users that would lose something, which the caller can't see.",
    ),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (view) => view.organizationName,
      related: (view) => `/api/v2/organizations/${view.organizationName}`,
    }),
  },
  operations: {
    previewAccess: {
      method: "POST",
      path: "/organizations/:organization_name/access-previews",
      summary: "Preview changes of access, or apply previewed changes, all or none",
      needs: "read access to the changed resources; to apply, the permission for each change",
      body: {
        custom: z.object({ data: z.object({ type: z.literal("access-previews"), attributes: previewAttributes }) }),
      },
      answer: "document",
      mayWarn: true,
      example: {
        data: {
          type: "access-previews",
          attributes: {
            changes: [
              {
                method: "POST",
                path: "/api/v2/team-projects",
                body: {
                  data: {
                    type: "team-projects",
                    attributes: { access: "write" },
                    relationships: {
                      project: { data: { type: "projects", id: "prj-1234567890abcdef" } },
                      team: { data: { type: "teams", id: "team-1234567890abcdef" } },
                    },
                  },
                },
              },
            ],
          },
        },
      },
    },
  },
}));
