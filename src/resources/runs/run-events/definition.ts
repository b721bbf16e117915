/** A run event, something that happened to a run and who caused it; and a comment, which an event tells of. Neither ever changes. */
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { CommentTable, RunEventTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export type RunEventView = RunEventTable & WorkspaceFacts;

const readers = "read access to the workspace's runs";
const includes = ["actor", "comment"] as const;

/** The kinds of actors that have documents; agents, schedules and the operator have none. */
const actorTypes: Readonly<Record<string, string>> = { user: "users", team: "teams" };

export const runEvents = defineResource<RunEventView>()(({ readOnly, toOne }) => ({
  type: "run-events",
  doc: "Something that happened to a run.",
  id: (event) => event.id,
  attributes: {
    action: readOnly(
      text(),
      "What happened: created, queued, planning, planned, confirmed, applying, applied, discarded, cancel_requested, canceled, force_canceled, errored, commented, force_executed, or triggered and not_triggered for what its apply did in other workspaces.",
    ),
    "created-at": readOnly(timestamp(), "When."),
    description: readOnly(text().nullable(), "A sentence, where the word alone does not tell."),
  },
  relationships: {
    actor: toOne(["users", "teams"], "Who had it happen; null for an agent, a schedule or another run.", {
      nullable: true,
      id: ({ actorKind, actorId }) => (actorKind !== null && actorKind in actorTypes ? actorId : null),
      type: ({ actorKind }) => actorTypes[actorKind ?? ""] ?? "users",
    }),
    comment: toOne("comments", "What was said with it.", { nullable: true, id: (event) => event.commentId }),
    run: toOne("runs", "The run.", { id: (event) => event.runId }),
  },
  links: (event) => ({ self: `/api/v2/run-events/${event.id}` }),
  operations: {
    listRunEvents: {
      method: "GET",
      path: "/runs/:run_id/run-events",
      summary: "List what happened to a run, in its order; all of it",
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

export type CommentView = CommentTable & WorkspaceFacts;

const commentLengthMax = 16_384;
const ofRun = "/runs/:run_id/comments";

export const comments = defineResource<CommentView>()(({ once, toOne }) => ({
  type: "comments",
  doc: "What somebody said about a run.",
  id: (comment) => comment.id,
  attributes: {
    body: once(text({ min: 1, max: commentLengthMax }), "What was said."),
  },
  relationships: {
    "run-event": toOne("run-events", "The event that tells who said it, and when.", {
      id: (comment) => comment.runEventId,
      related: (comment) => `/api/v2/run-events/${comment.runEventId}`,
    }),
  },
  links: (comment) => ({ self: `/api/v2/comments/${comment.id}` }),
  operations: {
    listComments: {
      method: "GET",
      path: ofRun,
      summary: "List what people said about a run, in its order; all of it",
      needs: readers,
      answer: "list",
    },
    createComment: {
      method: "POST",
      path: ofRun,
      summary: "Say something about a run",
      needs: "'plan' on the workspace's runs",
      body: "create",
      answer: "created",
      example: { data: { type: "comments", attributes: { body: "This waits for the change of Thursday." } } },
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
