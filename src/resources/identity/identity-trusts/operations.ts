/** Operations on identity trusts. A trust hands out team tokens, so it requires the same access as creating one. */
import { type CredentialTerm, credentialTerm } from "../../../access/credentials.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { invalid, notFound, throwIfInvalid, relationshipFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { checkNameAvailability } from "../../shared/name-availability.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import { factsOf } from "../organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../organizations/reads.ts";
import { authorizeTeam, refuseExceedingOwnAccess, teamsByIds } from "../teams/reads.ts";
import { identityTrusts, type IdentityTrustView } from "./definition.ts";
import { changedIdentityTrust, nameTaken, newIdentityTrust, tooManyTrusts, trustsMax } from "./rules.ts";
import {
  deleteIdentityTrustRow,
  findIdentityTrust,
  insertIdentityTrust,
  listIdentityTrustRows,
  updateIdentityTrustRow,
} from "./store.ts";

const permission = "can-create-team";

export const identityTrustResource = implement(identityTrusts, {
  async listIdentityTrusts({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    return listIdentityTrustRows(tx, authorizeOrganization(organization, permission), query.page);
  },

  async createIdentityTrust({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName),
        permission,
      );
      const teamId = body.relationships.team ?? "";
      const term = await checkTeam(tx, context, organization.id, teamId);
      const identity = { id: newId("identity-trusts"), organizationId: organization.id, teamId, createdAt: now() };
      const row = newIdentityTrust(body.attributes, identity);
      const { count, isTaken } = await checkNameAvailability(tx, "identityTrusts", organization.id, row.name);
      throwIfInvalid([...(isTaken ? [nameTaken()] : []), ...(count >= trustsMax ? [tooManyTrusts()] : [])]);
      await insertIdentityTrust(tx, organization, term, row);
      const view = { ...row, ...factsOf(organization), standing: organization.standing };
      await recordChange(tx, context, identityTrusts, { after: view }, { after: { team: teamId } });
      return { view };
    });
  },

  async showIdentityTrust({ context, params }) {
    return { view: await loadTrust(context.database.reader, context, params.identityTrustId) };
  },

  async updateIdentityTrust({ context, params, body }) {
    return context.database.write(async (tx) => {
      const trust = await loadTrust(tx, context, params.identityTrustId, "change");
      context.ifMatch.check(trust);
      const term = await checkTeam(tx, context, trust.organizationId, trust.teamId);
      const { changes, changed } = updateOf<IdentityTrustView>(trust, changedIdentityTrust(body.attributes));
      if (changes === undefined) return { view: trust };
      const isRenamed = changed.nameKey !== trust.nameKey;
      const isTaken =
        isRenamed && (await checkNameAvailability(tx, "identityTrusts", trust.organizationId, changed.name)).isTaken;
      throwIfInvalid(isTaken ? [nameTaken()] : []);
      await updateIdentityTrustRow(tx, trust, term, changes);
      await recordChange(tx, context, identityTrusts, { before: trust, after: changed });
      return { view: changed };
    });
  },

  async deleteIdentityTrust({ context, params }) {
    return context.database.write(async (tx) => {
      const trust = await loadTrust(tx, context, params.identityTrustId, "removal");
      context.ifMatch.check(trust);
      await deleteIdentityTrustRow(tx, trust);
      await recordChange(tx, context, identityTrusts, { before: trust });
    });
  },
});

async function loadTrust(
  tx: Tx,
  context: Context,
  id: string,
  lock: RowLock = false,
): Promise<Granted<IdentityTrustView, typeof permission>> {
  const thing = "identity trust";
  const trust = await findIdentityTrust(tx, context.actor, id, lock);
  if (trust === undefined) throw notFound(thing);
  return authorize(trust, {
    thing,
    permission,
    visible: trust.standing.member,
    allowed: organizationPermissions(trust.standing)[permission],
    needs: organizationPermissionNeeds[permission] ?? "to manage teams",
  });
}

/** Throws `invalid` if the team doesn't exist, and `forbidden`. */
async function checkTeam(
  tx: Tx,
  context: Context,
  organizationId: string,
  teamId: string,
): Promise<CredentialTerm<null>> {
  const [team] = await teamsByIds(tx, context.actor, [teamId]);
  if (team === undefined || team.organizationId !== organizationId)
    throw invalid([relationshipFault("team", `Team '${teamId}' does not exist in this organization`)]);
  await refuseExceedingOwnAccess(tx, context, organizationId, [authorizeTeam(team, "can-update-api-token")]);
  return credentialTerm(context.actor, { thing: "an identity trust, or change one", endsAt: null });
}
