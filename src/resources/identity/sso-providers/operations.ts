/** Operations on SSO providers. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { endSessionsOfProvider } from "../authentication-tokens/writes.ts";
import { incrementMembershipVersions } from "../organization-memberships/writes.ts";
import { factsOf } from "../organizations/definition.ts";
import { findOrganizationByName } from "../organizations/reads.ts";
import { lockTeamsOfProvider, removeProviderTeamMembers } from "../teams/writes.ts";
import { ssoProviders, type SsoProviderView } from "./definition.ts";
import { nameTaken, newSsoProvider, organizationFaults, organizationNameIn, secretOwner } from "./rules.ts";
import {
  deleteSsoProviderRow,
  findSsoProvider,
  insertSsoProvider,
  isProviderNameTaken,
  listSsoProviderRows,
  updateSsoProviderRow,
} from "./store.ts";

export const ssoProviderResource = implement(ssoProviders, {
  async listSsoProviders({ context, query }) {
    requireSiteAdmin(context.actor);
    return listSsoProviderRows(context.database.reader, query.page);
  },

  async createSsoProvider({ context, body: { attributes, relationships } }) {
    const administration = requireSiteAdmin(context.actor);
    const named = { attribute: attributes.organization, relationship: relationships.organization };
    const organizationName = organizationNameIn(named);
    return context.database.write(async (tx) => {
      const organization =
        organizationName === undefined ? undefined : await findOrganizationByName(tx, administration, organizationName);
      const identity = { id: newId("sso-providers"), organizationId: organization?.id ?? null, createdAt: now() };
      const row = newSsoProvider(attributes, identity);
      throwIfInvalid([
        ...organizationFaults(named, organization !== undefined),
        ...((await isProviderNameTaken(tx, row.name)) ? [nameTaken()] : []),
      ]);
      const clientSecret = encryptSecret(context, row.id, attributes.clientSecret);
      await insertSsoProvider(tx, administration, { ...row, clientSecret });
      const facts = organization === undefined ? noOrganization : factsOf(organization);
      const view: SsoProviderView = { ...row, ...facts };
      await recordChange(tx, context, ssoProviders, { after: view });
      return { view };
    });
  },

  async showSsoProvider({ context, params }) {
    return { view: await loadProvider(context.database.reader, context, params.ssoProviderId) };
  },

  async updateSsoProvider({ context, params, body: { attributes } }) {
    return context.database.write(async (tx) => {
      const provider = await loadProvider(tx, context, params.ssoProviderId, "change");
      context.ifMatch.check(provider);
      const { clientSecret: secret } = attributes;
      const { changes, changed } = updateOf<SsoProviderView>(provider, changedColumns(ssoProviders, attributes));
      if (changes === undefined && secret === undefined) return { view: provider };
      const isRenamed = changed.nameKey !== provider.nameKey;
      throwIfInvalid(isRenamed && (await isProviderNameTaken(tx, changed.name)) ? [nameTaken()] : []);
      const secretColumn = secret === undefined ? {} : { clientSecret: encryptSecret(context, provider.id, secret) };
      await updateSsoProviderRow(tx, provider, { ...changes, ...secretColumn });
      const extra = secret === undefined ? {} : { after: { "replaced-secrets": ["client-secret"] } };
      await recordChange(tx, context, ssoProviders, { before: provider, after: changed }, extra);
      return { view: changed };
    });
  },

  async deleteSsoProvider({ context, params }) {
    requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      // Lock order: organizations, teams, provider.
      const lockedTeams = await lockTeamsOfProvider(tx, params.ssoProviderId);
      const provider = await loadProvider(tx, context, params.ssoProviderId, "removal");
      context.ifMatch.check(provider);
      const leaving = await removeProviderTeamMembers(tx, context, provider, lockedTeams);
      if (leaving.length > 0) await incrementMembershipVersions(tx, leaving);
      await endSessionsOfProvider(tx, context, provider);
      await deleteSsoProviderRow(tx, provider);
      await recordChange(tx, context, ssoProviders, { before: provider });
    });
  },
});

const noOrganization = { organizationName: null, organizationFactsVersion: null };

const encryptSecret = ({ vault }: Context, id: string, secret: string): Uint8Array =>
  vault.seal(secretOwner(id), Buffer.from(secret));

async function loadProvider(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock?: "change" | "removal",
): Promise<Granted<SsoProviderView, "can-administer">> {
  const administration = requireSiteAdmin(context.actor);
  const provider = await findSsoProvider(tx, id, lock);
  if (provider === undefined) throw notFound("SSO provider");
  return withSiteAdminProof(administration, provider);
}
