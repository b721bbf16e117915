/** Operations on run events and comments. Events are written in the transaction of the change (`writes.ts`). */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { authorizeRun, loadRunForUpdate, loadRun } from "../runs/reads.ts";
import { TransitionRecorder } from "../runs/transition-recorder.ts";
import { comments, runEvents } from "./definition.ts";
import { findComment, findComments, findEventsOfRun, findRunEvent } from "./store.ts";

export const runEventResource = implement(runEvents, {
  async listRunEvents({ context, params, query }) {
    const tx = context.database.reader;
    const views = await findEventsOfRun(tx, context.actor, params.runId);
    const [first] = views;
    if (first === undefined) throw notFound("run");
    authorizeOnWorkspace("run", first, "can-read-run");
    return { views, included: (await loadIncluded(tx, context, runEvents, views, query.include)) ?? [] };
  },

  async showRunEvent({ context, params, query }) {
    const tx = context.database.reader;
    const view = await findRunEvent(tx, context.actor, params.runEventId);
    if (view === undefined) throw notFound("run event");
    authorizeOnWorkspace("run event", view, "can-read-run");
    return { view, included: (await loadIncluded(tx, context, runEvents, [view], query.include)) ?? [] };
  },
});

export const commentResource = implement(comments, {
  async listComments({ context, params }) {
    const tx = context.database.reader;
    const run = await loadRun(tx, context, params.runId);
    return { views: await findComments(tx, context.actor, { runId: run.id }) };
  },

  async createComment({ context, params, body }) {
    return context.database.write(async (tx) => {
      const run = authorizeRun(await loadRunForUpdate(tx, context, params.runId), "can-comment");
      const recorder = new TransitionRecorder(tx, context, run, run.workspaceId);
      const comment = await recorder.addComment(run, body.attributes.body);
      await recorder.flush();
      const { access, owner, allowForceDeleteWorkspaces } = run;
      return { view: { ...comment, access, owner, allowForceDeleteWorkspaces } };
    });
  },

  async showComment({ context, params }) {
    const comment = await findComment(context.database.reader, context.actor, params.commentId);
    if (comment === undefined) throw notFound("comment");
    return { view: authorizeOnWorkspace("comment", comment, "can-read-run") };
  },
});
