/** Operations on API tokens. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { canManageToken, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError, attributeFault, forbidden, notFound } from "../../../kernel/errors.ts";
import { isIdOf } from "../../../kernel/ids.ts";
import { authorizeOrganization, loadOrganization } from "../organizations/reads.ts";
import { neverExpires } from "../../shared/grants/in-force.ts";
import { standingUntil } from "../../shared/grants/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeTeam, loadTeam, refuseExceedingOwnAccess } from "../teams/reads.ts";
import { loadTokenUser } from "../users/reads.ts";
import { factsOf, type OrganizationView } from "../organizations/definition.ts";
import { authenticationTokens, type TokenView } from "./definition.ts";
import { type OrganizationTokenKind, ruledToken } from "./rules.ts";
import {
  deleteTeamTokenRows,
  findLegacyToken,
  findToken,
  isDescriptionTaken,
  listTeamTokens,
  listTokens,
  type ManagedTokenView,
} from "./store.ts";
import { issueToken, type NewToken, recordRevoked, revokeToken } from "./writes.ts";

type TeamTokenInput = Pick<NewToken, "isLegacy" | "description" | "expiredAt">;

export const authenticationTokenResource = implement(authenticationTokens, {
  async createUserToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const user = await loadTokenUser(tx, context, params.userId);
      return {
        view: await issueToken(tx, context, user, {
          holder: { kind: "user", userId: user.id },
          isLegacy: false,
          ...body.attributes,
        }),
      };
    });
  },

  async listUserTokens({ context, params, query }) {
    const tx = context.database.reader;
    const user = await loadTokenUser(tx, context, params.userId);
    return listTokens(tx, { userId: user.id }, query.page);
  },

  async showToken({ context, params }) {
    const { reader } = context.database;
    if (isIdOf("agent-tokens", params.tokenId))
      return { view: await context.hooks.agentTokens.loadAgentToken(reader, context, params.tokenId) };
    return { view: authorizeToken(context, await findToken(reader, context.actor, params.tokenId)) };
  },

  async deleteToken({ context, params }) {
    return context.database.write(async (tx) => {
      if (isIdOf("agent-tokens", params.tokenId)) {
        const agentToken = await context.hooks.agentTokens.loadAgentToken(tx, context, params.tokenId);
        context.ifMatch.check(agentToken);
        return context.hooks.agentTokens.revokeAgentToken(tx, context, agentToken);
      }
      const token = authorizeToken(context, await findToken(tx, context.actor, params.tokenId));
      context.ifMatch.check(token);
      await revokeToken(tx, context, token);
    });
  },

  async replaceTeamToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const team = await loadTokenTeam(tx, context, params.teamId, "change");
      const before = await findLegacyToken(tx, context.actor, params);
      return { view: await addTeamToken(tx, context, team, { isLegacy: true, ...body.attributes }, before) };
    });
  },

  async showTeamToken({ context, params }) {
    return { view: authorizeToken(context, await findLegacyToken(context.database.reader, context.actor, params)) };
  },

  async deleteTeamToken({ context, params }) {
    return context.database.write(async (tx) => {
      const token = authorizeToken(context, await findLegacyToken(tx, context.actor, params));
      context.ifMatch.check(token);
      await revokeToken(tx, context, token);
    });
  },

  async createTeamToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const team = await loadTokenTeam(tx, context, params.teamId, "change");
      return { view: await addTeamToken(tx, context, team, { isLegacy: false, ...body.attributes }) };
    });
  },

  async listTeamTokens({ context, params, query }) {
    const tx = context.database.reader;
    const team = await loadTokenTeam(tx, context, params.teamId);
    return listTokens(tx, { teamId: team.id }, query.page);
  },

  async listOrganizationTeamTokens({ context, params, query }) {
    const tx = context.database.reader;
    const organization = authorizeOrganization(
      await loadOrganization(tx, context, params.organizationName),
      "can-create-team",
    );
    return listTeamTokens(tx, context.actor, organization, { page: query.page, searchText: query.q, sort: query.sort });
  },

  async deleteOrganizationTeamTokens({ context, params }) {
    return context.database.write(async (tx) => {
      // Prevents a deadlock with the deletion of a team, which deletes tokens in another order.
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-create-team",
      );
      await recordRevoked(tx, context, await deleteTeamTokenRows(tx, context.actor, organization));
    });
  },

  async replaceOrganizationToken({ context, params, body, query }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-update-api-token",
      );
      const selected = organizationToken(params, query);
      const before = await findLegacyToken(tx, context.actor, selected);
      const { id: organizationId, enabledRuleCount } = organization;
      const token = {
        holder: { kind: selected.kind, organizationId, ...factsOf(organization) },
        isLegacy: true,
        ...body.attributes,
      };
      const checkExpiry = async (expiresAt: string | null) => {
        await refuseOutlastingOwnership(tx, context, organization, expiresAt ?? neverExpires);
        await context.hooks.accessRules.enforceRules(tx, context, { organizationId, enabledRuleCount }, [
          ruledToken({ type: "organizations", id: organizationId }, expiresAt),
        ]);
      };
      const replaced = before && authorizeToken(context, before);
      return { view: await issueToken(tx, context, organization, token, { replaced, checkExpiry }) };
    });
  },

  async listOrganizationTokens({ context, params, query }) {
    const tx = context.database.reader;
    authorizeOrganization(await loadOrganization(tx, context, params.organizationName), "can-update-api-token");
    return listTokens(tx, organizationToken(params, query), query.page);
  },

  async showOrganizationToken({ context, params, query }) {
    const selected = organizationToken(params, query);
    return { view: authorizeToken(context, await findLegacyToken(context.database.reader, context.actor, selected)) };
  },

  async deleteOrganizationToken({ context, params, query }) {
    return context.database.write(async (tx) => {
      const token = authorizeToken(context, await findLegacyToken(tx, context.actor, organizationToken(params, query)));
      context.ifMatch.check(token);
      await revokeToken(tx, context, token);
    });
  },
});

function organizationToken(
  { organizationName }: { readonly organizationName: string },
  query: { readonly token: "audit-trails" | undefined },
): { readonly organizationName: string; readonly kind: OrganizationTokenKind } {
  return { organizationName, kind: query.token ?? "organization" };
}

async function loadTokenTeam(tx: Tx, context: Context, teamId: string, lock: "change" | false = false) {
  return authorizeTeam(await loadTeam(tx, context, teamId, lock), "can-update-api-token");
}

type TokenTeam = Awaited<ReturnType<typeof loadTokenTeam>>;

/** Clients match this exact sentence. */
const descriptionTaken = attributeFault("description", "Validation failed: Description has already been taken");

async function addTeamToken(
  tx: Tx,
  context: Context,
  team: TokenTeam,
  input: TeamTokenInput,
  before?: ManagedTokenView,
): Promise<TokenView> {
  if (input.description && (await isDescriptionTaken(tx, team.id, input.description, before?.id)))
    throw new AppError("invalid-record", [descriptionTaken]);
  const { id: teamId, organizationId, organizationName, organizationFactsVersion } = team;
  const holder = { kind: "team", teamId, organizationId, organizationName, organizationFactsVersion } as const;
  const checkExpiry = async (expiresAt: string | null) => {
    await refuseExceedingOwnAccess(tx, context, organizationId, [team], expiresAt ?? neverExpires);
    const change = ruledToken({ type: "teams", id: teamId }, expiresAt);
    await context.hooks.accessRules.enforceRules(tx, context, team, [change]);
  };
  const replaced = before && authorizeToken(context, before);
  return issueToken(tx, context, team, { holder, ...input }, { replaced, checkExpiry });
}

/** Throws `forbidden`. */
async function refuseOutlastingOwnership(
  tx: Tx,
  { actor }: Context,
  { id, standing }: OrganizationView,
  accessEnd: string,
): Promise<void> {
  const standingAtEnd = await standingUntil(tx, actor, standing, id, accessEnd);
  if (!organizationPermissions(standingAtEnd)["can-update-api-token"])
    throw forbidden("The token would outlast your ownership of the organization. Set an earlier expired-at.");
}

function authorizeToken(
  context: Context,
  token: ManagedTokenView | undefined,
): Granted<ManagedTokenView, "can-manage"> {
  const thing = "authentication token";
  if (token === undefined) throw notFound(thing);
  const allowed = canManageToken(context.actor, token);
  return authorize(token, {
    thing,
    permission: "can-manage",
    visible: allowed,
    allowed,
    needs: "to manage its tokens",
  });
}
