/** The ingress-attributes resource: the commit of a configuration version, stored as JSON in its row. */
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

function ingressOf<Row extends { readonly ingress: string | null }>({ ingress }: Row): Ingress | null {
  return ingress === null ? null : (JSON.parse(ingress) as Ingress);
}

export type IngressView = Pick<ConfigurationVersionTable, "id" | "ingressId" | "ingress">;

const ingressValue =
  <Name extends keyof Ingress>(name: Name) =>
  (view: IngressView): Ingress[Name] | null =>
    ingressOf(view)?.[name] ?? null;

export const ingressAttributes = defineResource<IngressView>()(({ readOnly, toOne }) => {
  const textOf = (name: keyof Ingress, doc: string) => readOnly(text().nullable(), doc, { from: ingressValue(name) });
  return {
    type: "ingress-attributes",
    doc: "The commit that a configuration was fetched from.",
    id: ({ ingressId }) => ingressId ?? "",
    attributes: {
      branch: textOf("branch", "The branch of the commit."),
      "clone-url": textOf("cloneUrl", "The URL that the repository is cloned from."),
      "commit-message": textOf("commitMessage", "The commit message."),
      "commit-sha": textOf("commitSha", "The commit SHA."),
      "commit-url": textOf("commitUrl", "The URL of the commit's page."),
      "compare-url": textOf("compareUrl", "The URL of the page that shows its changes."),
      identifier: textOf("identifier", "The repository: ORGANIZATION/REPOSITORY."),
      "is-pull-request": readOnly(flag(), "Whether the commit belongs to a pull request.", {
        from: ingressValue("isPullRequest"),
      }),
      "on-default-branch": readOnly(flag(), "Whether the branch is the repository's default branch.", {
        from: ingressValue("onDefaultBranch"),
      }),
      "pull-request-number": readOnly(wholeNumber().nullable(), "The pull request's number.", {
        from: ingressValue("pullRequestNumber"),
      }),
      "pull-request-url": textOf("pullRequestUrl", "The URL of the pull request."),
      "pull-request-title": textOf("pullRequestTitle", "The title of the pull request."),
      "pull-request-body": textOf("pullRequestBody", "The description of the pull request."),
      tag: textOf("tag", "The tag that was pushed."),
      "sender-username": textOf("senderUsername", "The user who pushed the commit or opened the pull request."),
      "sender-avatar-url": textOf("senderAvatarUrl", "The URL of that user's avatar."),
      "sender-html-url": textOf("senderHtmlUrl", "The URL of that user's page."),
    },
    relationships: {
      "created-by": toOne("users", "Always null: the commit comes from version control.", {
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
