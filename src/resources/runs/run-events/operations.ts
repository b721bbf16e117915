/** Reading run events. They are written with what they tell of (`writes.ts`), and never changed. */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { runEvents } from "./definition.ts";
import { findEventsOfRun, findRunEvent } from "./store.ts";

export const runEventResource = implement(runEvents, {
  async listRunEvents({ context, params, query }) {
    const tx = context.database.reader;
    const views = await findEventsOfRun(tx, context.actor, params.runId);
    const [first] = views;
    if (first === undefined) throw notFound("run");
    grantOnWorkspace("run", first, "can-read-run");
    return { views, included: (await loadIncluded(tx, context, runEvents, views, query.include)) ?? [] };
  },

  async showRunEvent({ context, params, query }) {
    const tx = context.database.reader;
    const view = await findRunEvent(tx, context.actor, params.runEventId);
    if (view === undefined) throw notFound("run event");
    grantOnWorkspace("run event", view, "can-read-run");
    return { view, included: (await loadIncluded(tx, context, runEvents, [view], query.include)) ?? [] };
  },
});
