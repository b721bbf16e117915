/** Operations on access explanations. They must not write. */
import { principalOf } from "../../../access/actor.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { type Context, implement } from "../../shared/context.ts";
import { accessExplanations } from "./definition.ts";
import { parseSubjectQuery, explanationOf, authorizeExplanation, rightsOn, subjectOf, teamAsActor } from "./rules.ts";
import {
  findAccessTarget,
  findAccessTargetWithTeams,
  listTeamAccessRows,
  type ExplainedTargetReference,
} from "./store.ts";

interface SubjectFilters {
  readonly filterTeamId: string | undefined;
  readonly filterUserId: string | undefined;
}

export const accessExplanationResource = implement(accessExplanations, {
  explainProjectAccess: ({ context, params, query }) => explainAccess(context, params, query),
  explainWorkspaceAccess: ({ context, params, query }) => explainAccess(context, params, query),
  listProjectTeamAccess: ({ context, params, query }) => listTeamAccess(context, params, query.page),
  listWorkspaceTeamAccess: ({ context, params, query }) => listTeamAccess(context, params, query.page),
});

async function explainAccess(context: Context, reference: ExplainedTargetReference, filters: SubjectFilters) {
  const { actor, database } = context;
  const query = parseSubjectQuery(actor, filters.filterTeamId, filters.filterUserId);
  const principal = query.who === "caller" ? principalOf(actor) : query.id;
  const found = await findAccessTargetWithTeams(database.reader, actor, reference, principal);
  if (found === undefined) throw notFound("workspaceId" in reference ? "workspace" : "project");
  const { target, person, teamRows } = found;
  authorizeExplanation(target, query);
  const subject = subjectOf(actor, query, target, person, teamRows);
  return { view: explanationOf(target, subject, teamRows, person.personIsMember) };
}

async function listTeamAccess(context: Context, reference: ExplainedTargetReference, page: Page) {
  const { actor, database } = context;
  const target = await findAccessTarget(database.reader, actor, reference);
  if (target === undefined) throw notFound("workspaceId" in reference ? "workspace" : "project");
  authorizeExplanation(target, { who: "caller" });
  const seesSecretTeams = target.standing.seesSecretTeams || rightsOn(target)["can-read-team-access"];
  const { teamRows, totalCount } = await listTeamAccessRows(database.reader, actor, target, seesSecretTeams, page);
  return { views: teamRows.map((team) => explanationOf(target, teamAsActor(target, team), [team])), totalCount };
}
