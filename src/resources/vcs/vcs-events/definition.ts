/** The vcs-events resource: an event in a repository, and whether it started a run in a workspace. */
import type { VcsEventTable } from "../../../database/schema/vcs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { choiceParameter, listParameter, type Parameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { parseTimestamp } from "../../../kernel/time.ts";

export type VcsEventView = VcsEventTable;

const outcomes = ["started", "ignored", "failed"] as const;
export type VcsEventOutcome = (typeof outcomes)[number];

const instant = (doc: string): Parameter<string> => ({
  doc,
  parse: (value) => parseTimestamp(value) ?? new InvalidParameter("must be a timestamp such as 2030-01-31T12:00:00Z"),
});

const parameters = {
  "filter[outcome]": choiceParameter(outcomes, "Only events with this outcome."),
  "filter[levels]": listParameter("Only events with these levels, `info` or `error`, comma-separated."),
  "filter[from]": instant("Only events at this time or later."),
  "filter[to]": instant("Only events at this time or earlier."),
};
const list = { method: "GET", answer: "list" } as const satisfies Partial<Operation>;

export const vcsEvents = defineResource<VcsEventView>()(({ readOnly, toOne }) => ({
  type: "vcs-events",
  doc: "An event in a repository, and its result for a workspace: whether it started a run, and why not.",
  id: (event) => event.id,
  version: (event) => event.version,
  attributes: {
    kind: readOnly(
      text(),
      "`push`, `tag` or `pull-request`; `connection` for a workspace that was connected; `webhook` and `status` for a webhook or commit status that could not be created at the provider.",
    ),
    outcome: readOnly(text().nullable(), "`started`, `ignored` or `failed`; null until the event is processed."),
    detail: readOnly(text(), "The result of the event, and its reason."),
    message: readOnly(text(), "The same as `detail`.", { from: ({ detail }) => detail }),
    level: readOnly(text(), "`error` if the event failed, otherwise `info`.", {
      from: ({ outcome }) => (outcome === "failed" ? "error" : "info"),
    }),
    repository: readOnly(text(), "The repository: ORGANIZATION/REPOSITORY."),
    branch: readOnly(text().nullable(), "The branch that was pushed to, or the target branch of the pull request."),
    tag: readOnly(text().nullable(), "The tag that was pushed."),
    "commit-sha": readOnly(text().nullable(), "The commit SHA."),
    "pull-request-number": readOnly(wholeNumber().nullable(), "The pull request's number.", {
      from: ({ pullRequest }) => pullRequest,
    }),
    "created-at": readOnly(timestamp(), "When the event was received."),
    "decided-at": readOnly(timestamp().nullable(), "When the event was processed."),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace; null if the event does not concern a single workspace.", {
      nullable: true,
      id: ({ workspaceId }) => workspaceId,
    }),
    run: toOne("runs", "The run that the event started.", { nullable: true, id: ({ runId }) => runId }),
    "configuration-version": toOne("configuration-versions", "The configuration version that was fetched.", {
      nullable: true,
      id: ({ configurationVersionId }) => configurationVersionId,
    }),
    "oauth-client": toOne("oauth-clients", "The connection that received the event.", {
      nullable: true,
      id: ({ oauthClientId }) => oauthClientId,
    }),
  },
  operations: {
    listVcsEvents: {
      ...list,
      path: "/organizations/:organization_name/vcs-events",
      summary:
        "List the events of an organization's repositories, newest first; only those of the last 10 days unless `filter[from]` is set",
      needs:
        "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token",
      query: {
        paged: true,
        include: ["workspace"],
        parameters: {
          ...parameters,
          "filter[oauth_client_external_ids]": listParameter("Only events of these OAuth clients, comma-separated."),
        },
      },
    },
    listWorkspaceVcsEvents: {
      ...list,
      path: "/workspaces/:workspace_id/vcs-events",
      summary: "List the events of a workspace's repository, newest first",
      needs: "read access to the workspace's runs",
      query: { paged: true, parameters },
    },
  },
}));
