/** The background job that deletes everything in closed organizations, in batches. Audit events stay. */
import type { Schema } from "../../../database/schema/schema.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { organizations } from "./definition.ts";
import { deleteClosedOrganization, deleteRowsOfClosed, findClosedOrganization } from "./store.ts";

const rowsPerBatch = 200;

/** Rows before those they refer to, so that a batch deletes few others. Each has an index that begins with the organization. */
const emptiedTables: readonly (keyof Schema)[] = [
  // Their names are unique on the site.
  "ssoProviders",
  "runLogChunks",
  "runEvents",
  "comments",
  "vcsStatuses",
  "runTriggerFirings",
  "runTriggers",
  "assessmentResults",
  "runPhases",
  "runs",
  "stateVersionOutputs",
  "stateVersions",
  "configurationVersions",
  "vcsEvents",
  "vcsDeliveries",
  "vcsWebhooks",
  "notices",
  "notificationConfigurationMembers",
  "notificationConfigurations",
  "auditWebhooks",
  "accessViolations",
  "vars",
  "varsetWorkspaces",
  "varsetProjects",
  "varsets",
  "tagBindings",
  "workspaceTags",
  "tags",
  "teamWorkspaces",
  "teamProjects",
  "dataRetentionPolicies",
  "reservedTagKeys",
  "accessRules",
  "workspaces",
  "agents",
  "agentTokens",
  "agentPoolScopes",
  "agentPools",
  "oauthClientProjects",
  "oauthTokens",
  "oauthClients",
  "sshKeys",
  "accessRequestRequirements",
  "accessRequestParties",
  "accessRequests",
  "accessOfferTeams",
  "accessOffers",
  "identityTrusts",
  "invitations",
  "tokens",
  "teamMembers",
  "teams",
  "projects",
  "organizationMemberships",
  "importLinks",
  "organizationTokenTtlPolicies",
  "moduleConsumers",
];

/** A killed server's successor finds what is left. */
export async function emptyClosedOrganizations({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const id = await findClosedOrganization(context.database.reader);
    if (id === undefined) break;
    for (const table of emptiedTables)
      for (let count = rowsPerBatch; count === rowsPerBatch && !signal.aborted; handled += count)
        count = await step((tx) => deleteRowsOfClosed(tx, capability, table, id, rowsPerBatch), { isAudited: true });
    if (signal.aborted) break;
    await step(
      async (tx) => {
        if (!(await deleteClosedOrganization(tx, capability, id))) return;
        await recordEvent(tx, context, {
          organizationId: id,
          verb: "empty",
          subject: { type: organizations.type, id },
        });
      },
      { isAudited: true },
    );
    handled += 1;
  }
  return handled;
}
