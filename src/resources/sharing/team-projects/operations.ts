/** Operations on team access to projects: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import { notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { changeRecord, recordAccess, type RecordKind } from "../../shared/grants/changes.ts";
import { newRecordFaults, readOnlyFaults, refuseGivingMore } from "../../shared/grants/records.ts";
import { countTeams } from "../../register/projects/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { loadTeam } from "../../identity/teams/reads.ts";
import { teamProjects, type TeamProjectView } from "./definition.ts";
import { boundTo, chosenIn, givenBy, grantPlace, grantRecord } from "./rules.ts";
import {
  deleteRecord,
  findPlace,
  findRecord,
  insertRecord,
  isTeamTaken,
  listRecords,
  type ProjectPlace,
  updateRecord,
} from "./store.ts";

const kind: RecordKind<TeamProjectView> = {
  definition: teamProjects,
  load: async (tx, context, id) => grantRecord(await loadRecord(tx, context, id, true), "can-manage"),
  givenBy,
  store: updateRecord,
  boundTo,
};

export const teamProjectResource = implement(teamProjects, {
  async listTeamProjects({ context, query }) {
    const tx = context.database.reader;
    const place = grantPlace(await loadPlace(tx, context, query.filterProjectId ?? ""), "can-read");
    return listRecords(tx, context.actor, place, query.page);
  },

  async showTeamProject({ context, params }) {
    return { view: await loadRecord(context.database.reader, context, params.teamProjectId) };
  },

  async createTeamProject({ context, body }) {
    const { attributes, relationships } = body;
    const chosen = chosenIn(attributes);
    refuseIfAny(readOnlyFaults(attributes.access, chosen));
    return context.database.write(async (tx) => {
      // The team's row first and then the project's, as when a team is deleted: so the two never wait for each other.
      const team = await loadTeam(tx, context, relationships.team ?? "", true);
      const place = grantPlace(
        await loadPlace(tx, context, relationships.project ?? "", true),
        "can-manage-team-access",
      );
      if (team.organizationId !== place.organizationId) throw notFound("team");
      const given = givenBy(attributes.access, chosen);
      refuseGivingMore(place, 0, given.permissions);
      refuseIfAny(newRecordFaults(team, await isTeamTaken(tx, place, team.id)));
      const { organizationId, projectId, held, standing } = place;
      const id = newId("team-projects");
      const row = { id, organizationId, projectId, teamId: team.id, ...given, createdAt: now(), version: 1 };
      await insertRecord(tx, place, row);
      await countTeams(tx, projectId, 1);
      const { visibility: teamVisibility, includesActor } = team;
      const view = { ...row, held, standing, teamVisibility, includesActor };
      await recordAccess(tx, context, kind, { after: view });
      return { view };
    });
  },

  updateTeamProject: ({ context, params, body, ifMatch }) =>
    changeRecord(kind, context, {
      id: params.teamProjectId,
      level: body.attributes.access,
      chosen: chosenIn(body.attributes),
      ifMatch,
    }),

  async deleteTeamProject({ context, params, ifMatch }) {
    await context.database.write(async (tx) => {
      const record = grantRecord(await loadRecord(tx, context, params.teamProjectId, true), "can-manage");
      checkIfMatch(ifMatch, teamProjects, record);
      await deleteRecord(tx, record);
      await countTeams(tx, record.projectId, -1);
      await recordAccess(tx, context, kind, { before: record });
    });
  },
});

async function loadPlace(tx: Tx, context: Context, id: string, lock = false): Promise<ProjectPlace> {
  const place = await findPlace(tx, context.actor, id, lock);
  if (place === undefined) throw notFound("project");
  return place;
}

async function loadRecord(tx: Tx, context: Context, id: string, lock = false) {
  const record = await findRecord(tx, context.actor, id, lock);
  if (record === undefined) throw notFound("team access");
  return grantRecord(record, "can-read");
}
