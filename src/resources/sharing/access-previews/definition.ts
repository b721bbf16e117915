/** A change of access, asked as a question: who would gain and lose what, and may the caller make it. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, oneOf, text, wholeNumber } from "../../../jsonapi/schemas.ts";

/** How many changes can be asked about at once. */
const changesMax = 100;
/** How many workspaces, or projects, are named of those that are counted together. */
export const namedMax = 10;

/** A change as it was asked about. */
export interface ToldChange {
  readonly method: string;
  readonly path: string;
  readonly allowed: boolean;
  /** Why the caller may not, in the words of the change's own refusal. */
  readonly refusal: string | null;
}

/** Permissions that come or go together, on how many things, and the first of those that the caller may see. */
export interface Share {
  readonly permissions: readonly string[];
  readonly count: number;
  readonly named: readonly { readonly id: string; readonly name: string }[];
}

/** What one team or person would gain, or lose. */
export interface Difference {
  readonly subject: { readonly type: "teams" | "users"; readonly id: string; readonly name: string };
  readonly organization: readonly string[];
  readonly projects: readonly Share[];
  readonly workspaces: readonly Share[];
}

/** How many teams and people there are beside those that are named, which the caller may not see. */
export interface Unseen {
  readonly teams: number;
  readonly users: number;
}

export interface PreviewView {
  readonly id: string;
  readonly organizationName: string;
  readonly accessVersion: string;
  readonly applied: boolean;
  readonly allowed: boolean;
  readonly changes: readonly ToldChange[];
  readonly gains: readonly Difference[];
  readonly losses: readonly Difference[];
  readonly unseenGains: Unseen;
  readonly unseenLosses: Unseen;
}

const toldChange = z.object({
  method: z.string(),
  path: z.string(),
  allowed: z.boolean(),
  refusal: z.string().nullable(),
});

const share = z.object({
  permissions: z.array(z.string()),
  count: wholeNumber(),
  named: z.array(z.object({ id: z.string(), name: z.string() })).max(namedMax),
});

const difference = z.object({
  subject: z.object({ type: z.enum(["teams", "users"]), id: z.string(), name: z.string() }),
  organization: z.array(z.string()),
  projects: z.array(share),
  "project-count": wholeNumber(),
  workspaces: z.array(share),
  "workspace-count": wholeNumber(),
});

const unseen = z.object({ teams: wholeNumber(), users: wholeNumber() });

const totalOf = (shares: readonly Share[]): number => shares.reduce((total, { count }) => total + count, 0);

const shown = (differences: readonly Difference[]) =>
  differences.map(({ subject, organization, projects, workspaces }) => ({
    subject,
    organization,
    projects,
    "project-count": totalOf(projects),
    workspaces,
    "workspace-count": totalOf(workspaces),
  }));

const change = z.object({
  method: oneOf(["POST", "PATCH", "DELETE"]),
  path: text({ min: 1, max: 1024 }),
  body: z.unknown().optional(),
});

const asked = z
  .object({
    changes: z.array(change).min(1, { error: "must name at least one change" }).max(changesMax),
    "access-version": text({ min: 1, max: 256 }).nullable().optional(),
    apply: flag().optional(),
  })
  .refine((attributes) => attributes.apply !== true || typeof attributes["access-version"] === "string", {
    path: ["access-version"],
    error: "can't be blank where the changes are to be applied: send the one that the preview of them answered",
  });

export const accessPreviews = defineResource<PreviewView>()(({ readOnly, toOne }) => ({
  type: "access-previews",
  doc: "What changes of access would give to each team and person and take from them, told before they are made. Nothing is kept of a preview.",
  id: (view) => view.id,
  attributes: {
    "access-version": readOnly(
      text(),
      "Another one after every change of who may do what in the organization: send it back to apply what was previewed.",
    ),
    applied: readOnly(flag(), "Whether the changes were made."),
    allowed: readOnly(flag(), "Whether the caller may make all of the changes."),
    changes: readOnly(z.array(toldChange), "Each change: whether the caller may make it and, if not, why."),
    gains: readOnly(
      z.array(difference),
      `What each team and person would gain: permissions on the organization, and on how many projects and workspaces, of which the first ${namedMax} that the caller may see are named.`,
      { from: (view) => shown(view.gains) },
    ),
    losses: readOnly(z.array(difference), "The same for what each would lose.", { from: (view) => shown(view.losses) }),
    "unseen-gains": readOnly(unseen, "How many more teams and people gain something, whom the caller may not see."),
    "unseen-losses": readOnly(unseen, "How many more teams and people lose something, whom the caller may not see."),
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
      summary: "Tell what changes of access would do, or make them as previewed: all or none",
      needs: "whoever may read what is changed; to apply the changes, whoever may make each of them",
      body: {
        custom: z.object({ data: z.object({ type: z.literal("access-previews"), attributes: asked }) }),
      },
      answer: "document",
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
