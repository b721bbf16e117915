/** Operations on team access to workspaces: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import { notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { changeRecord, recordAccess, type RecordKind } from "../../shared/grants/changes.ts";
import { newRecordFaults, readOnlyFaults, refuseGivingMore } from "../../shared/grants/records.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { loadTeam } from "../../identity/teams/reads.ts";
import { teamWorkspaces, type TeamWorkspaceView } from "./definition.ts";
import { boundTo, chosenIn, givenBy, grantPlace, grantRecord } from "./rules.ts";
import {
  deleteRecord,
  findPlace,
  findRecord,
  insertRecord,
  isTeamTaken,
  listRecords,
  type WorkspacePlace,
  updateRecord,
} from "./store.ts";

const kind: RecordKind<TeamWorkspaceView> = {
  definition: teamWorkspaces,
  load: async (tx, context, id) => grantRecord(await loadRecord(tx, context, id, true), "can-manage"),
  givenBy,
  store: updateRecord,
  boundTo,
};

export const teamWorkspaceResource = implement(teamWorkspaces, {
  async listTeamWorkspaces({ context, query }) {
    const tx = context.database.reader;
    const place = grantPlace(await loadPlace(tx, context, query.filterWorkspaceId ?? ""), "can-read");
    return listRecords(tx, context.actor, place, query.pageAsked ? query.page : undefined);
  },

  async showTeamWorkspace({ context, params }) {
    return { view: await loadRecord(context.database.reader, context, params.teamWorkspaceId) };
  },

  async createTeamWorkspace({ context, body }) {
    const { attributes, relationships } = body;
    const chosen = chosenIn(attributes);
    refuseIfAny(readOnlyFaults(attributes.access, chosen));
    return context.database.write(async (tx) => {
      const place = grantPlace(
        await loadPlace(tx, context, relationships.workspace ?? "", true),
        "can-manage-team-access",
      );
      const team = await loadTeam(tx, context, relationships.team ?? "");
      if (team.organizationId !== place.organizationId) throw notFound("team");
      const given = givenBy(attributes.access, chosen);
      refuseGivingMore(place, 0, given.permissions);
      refuseIfAny(newRecordFaults(team, await isTeamTaken(tx, place, team.id)));
      const { organizationId, workspaceId, held, standing } = place;
      const id = newId("team-workspaces");
      const row = { id, organizationId, workspaceId, teamId: team.id, ...given, createdAt: now(), version: 1 };
      await insertRecord(tx, place, row);
      const { visibility: teamVisibility, includesActor } = team;
      const view = { ...row, held, standing, teamVisibility, includesActor };
      await recordAccess(tx, context, kind, { after: view });
      return { view };
    });
  },

  updateTeamWorkspace: ({ context, params, body, ifMatch }) =>
    changeRecord(kind, context, {
      id: params.teamWorkspaceId,
      level: body.attributes.access,
      chosen: chosenIn(body.attributes),
      ifMatch,
    }),

  async deleteTeamWorkspace({ context, params, ifMatch }) {
    await context.database.write(async (tx) => {
      const record = grantRecord(await loadRecord(tx, context, params.teamWorkspaceId, true), "can-manage");
      checkIfMatch(ifMatch, teamWorkspaces, record);
      await deleteRecord(tx, record);
      await recordAccess(tx, context, kind, { before: record });
    });
  },
});

async function loadPlace(tx: Tx, context: Context, id: string, lock = false): Promise<WorkspacePlace> {
  const place = await findPlace(tx, context.actor, id, lock);
  if (place === undefined) throw notFound("workspace");
  return place;
}

async function loadRecord(tx: Tx, context: Context, id: string, lock = false) {
  const record = await findRecord(tx, context.actor, id, lock);
  if (record === undefined) throw notFound("team access");
  return grantRecord(record, "can-read");
}
