/** What is shown beside variable sets: never what the caller couldn't read by itself. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { projects } from "../../register/projects/definition.ts";
import { readableProjects } from "../../register/projects/reads.ts";
import type { Context } from "../../shared/context.ts";
import { vars } from "../vars/definition.ts";
import { varsOfSets } from "../vars/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { pageOfWorkspaces } from "../../register/workspaces/reads.ts";
import type { VarsetView } from "./definition.ts";
import { linkedTo } from "./store.ts";

interface Sets {
  readonly views: readonly VarsetView[];
  readonly totalCount?: number;
}

/** A statement or two for each kind that is asked for, whatever the number of sets, which are all of one organization. */
export async function withIncluded(
  tx: Tx,
  context: Context,
  sets: Sets,
  wanted: ReadonlySet<string>,
): Promise<Sets & { included?: Included[] }> {
  if (wanted.size === 0) return sets;
  const [first] = sets.views;
  if (first === undefined) return { ...sets, included: [] };
  const ids = sets.views.map((set) => set.id);
  const included: Included[] = [];
  if (wanted.has("workspaces")) {
    const organization = await loadOrganization(tx, context, first.organizationName);
    const page = { number: 1, size: pageSizeMax };
    const { views } = await pageOfWorkspaces(tx, context, organization, linkedTo(tx, ids), page);
    included.push(...views.map((view) => ({ definition: workspaces, view })));
  }
  if (wanted.has("projects")) {
    const named = [...new Set(sets.views.flatMap((set) => set.links.projects))].slice(0, pageSizeMax);
    const views = await readableProjects(tx, context.actor, first.organizationId, named);
    included.push(...views.map((view) => ({ definition: projects, view })));
  }
  if (wanted.has("vars")) {
    const views = await varsOfSets(tx, context, first.organizationId, ids);
    included.push(...views.map((view) => ({ definition: vars, view })));
  }
  return { ...sets, included };
}
