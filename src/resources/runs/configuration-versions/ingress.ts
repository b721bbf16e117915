/** The commit that a configuration was fetched from. It is kept in the row of its configuration version, and shown as a resource of its own. */
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, wholeNumber } from "../../../jsonapi/schemas.ts";

export interface Ingress {
  readonly branch: string;
  readonly cloneUrl: string;
  readonly commitMessage: string;
  readonly commitSha: string;
  readonly commitUrl: string;
  readonly compareUrl: string | null;
  /** `ORGANIZATION/REPOSITORY`. */
  readonly identifier: string;
  readonly isPullRequest: boolean;
  readonly onDefaultBranch: boolean;
  readonly pullRequestNumber: number | null;
  readonly pullRequestUrl: string | null;
  readonly pullRequestTitle: string | null;
  readonly pullRequestBody: string | null;
  readonly tag: string | null;
  readonly senderUsername: string | null;
  readonly senderAvatarUrl: string | null;
  readonly senderHtmlUrl: string | null;
}

/** Null where the configuration was sent by hand. */
function ingressOf<Row extends { readonly ingress: string | null }>({ ingress }: Row): Ingress | null {
  return ingress === null ? null : (JSON.parse(ingress) as Ingress);
}

/** A configuration version that has one. */
export type IngressView = Pick<ConfigurationVersionTable, "id" | "ingressId" | "ingress">;

const of =
  <Name extends keyof Ingress>(name: Name) =>
  (view: IngressView): Ingress[Name] | null =>
    ingressOf(view)?.[name] ?? null;

export const ingressAttributes = defineResource<IngressView>()(({ readOnly, toOne }) => {
  const words = (name: keyof Ingress, doc: string) => readOnly(text().nullable(), doc, { from: of(name) });
  return {
    type: "ingress-attributes",
    doc: "The commit that a configuration was fetched from.",
    id: ({ ingressId }) => ingressId ?? "",
    attributes: {
      branch: words("branch", "The branch that it is on."),
      "clone-url": words("cloneUrl", "Where the repository is fetched from."),
      "commit-message": words("commitMessage", "What its author says about it."),
      "commit-sha": words("commitSha", "Its id."),
      "commit-url": words("commitUrl", "Where people look at it."),
      "compare-url": words("compareUrl", "Where people look at what it changes."),
      identifier: words("identifier", "The repository: ORGANIZATION/REPOSITORY."),
      "is-pull-request": readOnly(flag(), "Whether it is of a pull request.", { from: of("isPullRequest") }),
      "on-default-branch": readOnly(flag(), "Whether its branch is the repository's default one.", {
        from: of("onDefaultBranch"),
      }),
      "pull-request-number": readOnly(wholeNumber().nullable(), "The pull request's number.", {
        from: of("pullRequestNumber"),
      }),
      "pull-request-url": words("pullRequestUrl", "Where the pull request is."),
      "pull-request-title": words("pullRequestTitle", "What it is called."),
      "pull-request-body": words("pullRequestBody", "What it says."),
      tag: words("tag", "The tag that was pushed."),
      "sender-username": words("senderUsername", "Who pushed it."),
      "sender-avatar-url": words("senderAvatarUrl", "A picture of them."),
      "sender-html-url": words("senderHtmlUrl", "Their page."),
    },
    relationships: {
      "created-by": toOne("users", "Nobody of ours: it came from version control.", {
        nullable: true,
        id: () => null,
      }),
    },
    links: ({ id }) => ({ self: `/api/v2/configuration-versions/${id}/ingress-attributes` }),
    operations: {
      showIngressAttributes: {
        method: "GET",
        path: "/configuration-versions/:configuration_version_id/ingress-attributes",
        summary: "Show the commit that a configuration version comes from",
        needs: "read access to the workspace's runs",
        answer: "document",
      },
    },
  } as const;
});
