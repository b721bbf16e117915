/** A comment: what somebody said about a run. It never changes. */
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { CommentTable } from "../../../database/schema/runs.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";

export type CommentView = CommentTable & WorkspaceFacts;

export const commentLengthMax = 16_384;
const readers = "read access to the workspace's runs";
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
