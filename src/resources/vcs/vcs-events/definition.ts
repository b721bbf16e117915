/** What happened in a repository, and what it did in a workspace: started a run, or did not, and why. It can only be read. */
import type { VcsEventTable } from "../../../database/schema/vcs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { choice, listParameter, type Parameter, Unusable } from "../../../jsonapi/query.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { parseTimestamp } from "../../../kernel/time.ts";

export type VcsEventView = VcsEventTable;

const outcomes = ["started", "ignored", "failed"] as const;
export type Outcome = (typeof outcomes)[number];

const instant = (doc: string): Parameter<string> => ({
  doc,
  parse: (value) => parseTimestamp(value) ?? new Unusable("must be a timestamp such as 2030-01-31T12:00:00Z"),
});

const parameters = {
  "filter[outcome]": choice(outcomes, "Only those with this outcome."),
  "filter[levels]": listParameter("Only these levels, `info` or `error`, separated by commas."),
  "filter[from]": instant("Only from this time on."),
  "filter[to]": instant("Only until this time."),
};
const list = { method: "GET", answer: "list" } as const satisfies Partial<Operation>;

export const vcsEvents = defineResource<VcsEventView>()(({ readOnly, toOne }) => ({
  type: "vcs-events",
  doc: "What happened in a repository, and what it did in a workspace: started a run or not, and why.",
  id: (event) => event.id,
  version: (event) => event.version,
  attributes: {
    kind: readOnly(
      text(),
      "`push`, `tag` or `pull-request`; `connection` for a workspace that was connected, `webhook` and `status` for what could not be made or told at the provider.",
    ),
    outcome: readOnly(text().nullable(), "`started`, `ignored` or `failed`; null until it is decided."),
    detail: readOnly(text(), "What became of it, and why, in a sentence."),
    message: readOnly(text(), "The same.", { from: ({ detail }) => detail }),
    level: readOnly(text(), "`error` where something failed, else `info`.", {
      from: ({ outcome }) => (outcome === "failed" ? "error" : "info"),
    }),
    repository: readOnly(text(), "The repository: ORGANIZATION/REPOSITORY."),
    branch: readOnly(
      text().nullable(),
      "The branch that was pushed to; of a pull request, the one that it is to go to.",
    ),
    tag: readOnly(text().nullable(), "The tag that was pushed."),
    "commit-sha": readOnly(text().nullable(), "The commit."),
    "pull-request-number": readOnly(wholeNumber().nullable(), "The pull request's number.", {
      from: ({ pullRequest }) => pullRequest,
    }),
    "created-at": readOnly(timestamp(), "When it arrived."),
    "decided-at": readOnly(timestamp().nullable(), "When it was decided."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace; null for what concerns none alone.", {
      nullable: true,
      id: ({ workspaceId }) => workspaceId,
    }),
    run: toOne("runs", "The run that it started.", { nullable: true, id: ({ runId }) => runId }),
    "configuration-version": toOne("configuration-versions", "The configuration that was fetched for it.", {
      nullable: true,
      id: ({ configurationVersionId }) => configurationVersionId,
    }),
    "oauth-client": toOne("oauth-clients", "The connection that it came by.", {
      nullable: true,
      id: ({ oauthClientId }) => oauthClientId,
    }),
  },
  operations: {
    listVcsEvents: {
      ...list,
      path: "/organizations/:organization_name/vcs-events",
      summary:
        "List what happened in an organization's repositories and what it did, the newest first; of the last 10 days unless `filter[from]` says otherwise",
      needs:
        "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token",
      query: {
        paged: true,
        include: ["workspace"],
        parameters: {
          ...parameters,
          "filter[oauth_client_external_ids]": listParameter("Only those by these OAuth clients, separated by commas."),
        },
      },
    },
    listWorkspaceVcsEvents: {
      ...list,
      path: "/workspaces/:workspace_id/vcs-events",
      summary: "List what happened in a workspace's repository and what it did, the newest first",
      needs: "read access to the workspace's runs",
      query: { paged: true, parameters },
    },
  },
}));
