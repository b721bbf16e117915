/** Operations on comments: load → authorize → write. */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { movedBy } from "../proofs.ts";
import { grantRun, holdRun, loadRun } from "../runs/reads.ts";
import { comments } from "./definition.ts";
import { findComment, findComments } from "./store.ts";
import { addComment } from "./writes.ts";

export const commentResource = implement(comments, {
  async listComments({ context, params }) {
    const tx = context.database.reader;
    const run = await loadRun(tx, context, params.runId);
    return { views: await findComments(tx, context.actor, { runId: run.id }) };
  },

  async createComment({ context, params, body }) {
    return context.database.write(async (tx) => {
      const run = grantRun(await holdRun(tx, context, params.runId), "can-comment");
      const comment = await addComment(tx, context, movedBy(run, run), body.attributes.body);
      const { access, owner, allowForceDeleteWorkspaces } = run;
      return { view: { ...comment, access, owner, allowForceDeleteWorkspaces } };
    });
  },

  async showComment({ context, params }) {
    const comment = await findComment(context.database.reader, context.actor, params.commentId);
    if (comment === undefined) throw notFound("comment");
    return { view: grantOnWorkspace("comment", comment, "can-read-run") };
  },
});
