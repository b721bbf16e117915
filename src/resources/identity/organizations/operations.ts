/** Operations on organizations. */
import { Capability } from "../../../access/capability.ts";
import { type Actor, isSiteAdmin } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { noRestrictions, ownersAccess } from "../../../access/organization.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { forbidden, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { changesWithin, loadIncluded } from "../../shared/includes.ts";
import { organizations, type OrganizationView } from "./definition.ts";
import { authorizeOrganization, loadOrganization } from "./reads.ts";
import {
  executionModeFaults,
  nameTaken,
  newOrganization,
  defaultPoolAfter,
  unknownPool,
  refuseLockingOut,
  unusedPoolFaults,
} from "./rules.ts";
import {
  hasAgentPool,
  insertOrganization,
  isNameTaken,
  listOrganizationRows,
  toOrganizationView,
  updateOrganizationRow,
} from "./store.ts";
import { closeOrganization } from "./writes.ts";

const issueCapability = Capability.issuer("new-organization");

export const organizationResource = implement(organizations, {
  async createOrganization({ context, body }) {
    const creator = requireCreator(context);
    return context.database.write(async (tx) => {
      const row = newOrganization(body.attributes, {
        id: newId("organizations"),
        defaultProjectId: newId("projects"),
        createdAt: now(),
      });
      refuseLockingOut(context.actor, row);
      throwIfInvalid([...executionModeFaults(row), ...((await isNameTaken(tx, row.name)) ? [nameTaken()] : [])]);
      await insertOrganization(tx, creator, row);
      const creatorId = context.actor.kind === "user" ? context.actor.userId : undefined;
      await context.hooks.organizations.initializeOrganization(tx, issueCapability(row.id), row, creatorId);
      const standing = { teamAccess: ownersAccess, isMember: 1, ...noRestrictions };
      const view = toOrganizationView(context.actor, { ...row, ...standing });
      await recordChange(tx, context, organizations, { after: toAuditedOrganization(view) });
      return { view };
    });
  },

  async listOrganizations({ context, query }) {
    return listOrganizationRows(context.database.reader, context.actor, query.page, { q: query.q, name: query.qName });
  },

  async showOrganization({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadOrganization(tx, context, params.organizationName);
    const included = await loadIncluded(tx, context, organizations, [view], query.include);
    return { view, included, changesWith: changesWithin(view.id, query.include) };
  },

  async updateOrganization({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-update",
      );
      context.ifMatch.check(organization);
      const pool = body.relationships.defaultAgentPool;
      const { changes, changed } = updateOf<OrganizationView>(organization, {
        ...changedColumns(organizations, body.attributes),
        defaultAgentPoolId: defaultPoolAfter(body.attributes.defaultExecutionMode, pool),
      });
      if (changes === undefined) return { view: organization };
      refuseLockingOut(context.actor, changes);
      const isNameConflict = changed.nameKey !== organization.nameKey && (await isNameTaken(tx, changed.name));
      throwIfInvalid([
        ...executionModeFaults(changed),
        ...unusedPoolFaults(changed.defaultExecutionMode, pool),
        ...(isNameConflict ? [nameTaken()] : []),
        ...(changes.defaultAgentPoolId && !(await hasAgentPool(tx, organization.id, changes.defaultAgentPoolId))
          ? [unknownPool()]
          : []),
      ]);
      await updateOrganizationRow(tx, organization, changes);
      await recordChange(tx, context, organizations, {
        before: toAuditedOrganization(organization),
        after: toAuditedOrganization(changed),
      });
      return { view: changed };
    });
  },

  async deleteOrganization({ context, params }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "exclusive"),
        "can-destroy",
      );
      context.ifMatch.check(organization);
      await closeOrganization(tx, context, organization);
      await recordChange(tx, context, organizations, { before: toAuditedOrganization(organization) });
    });
  },
});

function toAuditedOrganization<View extends { id: string }>(view: View): View & { organizationId: string } {
  return { ...view, organizationId: view.id };
}

function requireCreator({ actor, options }: Context): Granted<Actor, "can-create-organizations"> {
  if (!isSiteAdmin(actor)) refuseCreator(actor, options);
  const permission = "can-create-organizations";
  return authorize(actor, { thing: "site", permission, visible: true, allowed: true, needs: "a site admin" });
}

function refuseCreator(actor: Actor, options: Context["options"]): void {
  if (actor.kind !== "user")
    throw forbidden("Only users can create organizations. Use a user's token instead of a team or organization token.");
  if (options.organizationCreation !== "anyone")
    throw forbidden(
      "Only site admins can create organizations on this site. Ask a site admin to create it, or to set CADASTRE_ORGANIZATION_CREATION to 'anyone'.",
    );
}
