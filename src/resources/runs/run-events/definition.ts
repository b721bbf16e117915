/** The run-events and comments resources. Both are append-only; each comment has an event. */
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { CommentTable, RunEventTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export type RunEventView = RunEventTable & WorkspacePermissionInput;

const readers = "read access to the workspace's runs";
const includes = ["actor", "comment"] as const;

/** Agents, schedules and the operator have no documents. */
const actorTypes: Readonly<Record<string, string>> = { user: "users", team: "teams" };

export const runEvents = defineResource<RunEventView>()(({ readOnly, toOne }) => ({
  type: "run-events",
  doc: "A change of a run's status, or a comment.",
  id: (event) => event.id,
  attributes: {
    action: readOnly(
      text(),
      "The kind of event: created, queued, planning, planned, confirmed, applying, applied, discarded, cancel_requested, canceled, force_canceled, errored, commented, force_executed, or triggered and not_triggered for the run triggers of its apply.",
    ),
    "created-at": readOnly(timestamp(), "When the event happened."),
    description: readOnly(text().nullable(), "An explanation, if the action needs one."),
  },
  relationships: {
    actor: toOne(["users", "teams"], "Who caused the event; null for an agent, a schedule or another run.", {
      nullable: true,
      id: ({ actorKind, actorId }) => (actorKind !== null && actorKind in actorTypes ? actorId : null),
      type: ({ actorKind }) => actorTypes[actorKind ?? ""] ?? "users",
    }),
    comment: toOne("comments", "The comment.", { nullable: true, id: (event) => event.commentId }),
    run: toOne("runs", "The run.", { id: (event) => event.runId }),
  },
  links: (event) => ({ self: `/api/v2/run-events/${event.id}` }),
  operations: {
    listRunEvents: {
      method: "GET",
      path: "/runs/:run_id/run-events",
      summary: "List all events of a run, oldest first",
      needs: readers,
      query: { include: includes },
      answer: "list",
    },
    showRunEvent: {
      method: "GET",
      path: "/run-events/:run_event_id",
      summary: "Show a run event",
      needs: readers,
      query: { include: includes },
      answer: "document",
    },
  },
}));

export type CommentView = CommentTable & WorkspacePermissionInput;

const commentLengthMax = 16_384;
const ofRun = "/runs/:run_id/comments";

export const comments = defineResource<CommentView>()(({ requiredFixed, toOne }) => ({
  type: "comments",
  doc: "A comment on a run.",
  id: (comment) => comment.id,
  attributes: {
    body: requiredFixed(text({ min: 1, max: commentLengthMax }), "The text of the comment."),
  },
  relationships: {
    "run-event": toOne("run-events", "The event with the comment's author and time.", {
      id: (comment) => comment.runEventId,
      related: (comment) => `/api/v2/run-events/${comment.runEventId}`,
    }),
  },
  links: (comment) => ({ self: `/api/v2/comments/${comment.id}` }),
  operations: {
    listComments: {
      method: "GET",
      path: ofRun,
      summary: "List all comments on a run, oldest first",
      needs: readers,
      answer: "list",
    },
    createComment: {
      method: "POST",
      path: ofRun,
      summary: "Comment on a run",
      needs: "'plan' on the workspace's runs",
      body: "create",
      answer: "created",
      example: { data: { type: "comments", attributes: { body: "Wait for Thursday's change before applying." } } },
    },
    showComment: {
      method: "GET",
      path: "/comments/:comment_id",
      summary: "Show a comment",
      needs: readers,
      answer: "document",
    },
  },
}));
