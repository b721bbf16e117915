/** The order in which an organization is brought: nothing comes before what it depends on. */
import { listMissingSecrets } from "../report.ts";
import { relatedId } from "../wire.ts";
import { bringAgentPools, bringSshKeys, findVersionControl, settleAgentPools } from "./connections.ts";
import { bringTies } from "./followed.ts";
import { Hand, type ImportRequest } from "./hand.ts";
import { bringOrganization, bringRules, nameUnknown, settleDefaults } from "./organization.ts";
import { bringMembers, bringTeams } from "./people.ts";
import { bringProjects } from "./projects.ts";
import { bringVarsets } from "./variables.ts";
import { bringWorkspaces } from "./workspaces.ts";

/** What was done is in the report. Raises AppError for what ends the whole; what was brought by then stays. */
export async function importOrganization(request: ImportRequest): Promise<void> {
  const hand = new Hand(request);
  const organization = await bringOrganization(hand);
  await bringRules(hand, organization);
  await bringTeams(hand);
  const people = await bringMembers(hand);
  await bringSshKeys(hand);
  const pools = await bringAgentPools(hand);
  const versionControl = await findVersionControl(hand);
  await settleDefaults(hand, organization, relatedId(organization, "default-agent-pool"));
  await bringProjects(hand, organization);
  const followed = await bringWorkspaces(hand, { people, versionControl });
  await bringVarsets(hand);
  await bringTies(hand, followed);
  await settleAgentPools(hand, pools);
  await nameUnknown(hand);
  await listSecrets(request);
}

/** Whichever run of this import brought them; a dry run has named what would come besides. */
async function listSecrets({ context: { database, vault }, to, report }: ImportRequest): Promise<void> {
  for (const { kind, thing, reason } of await listMissingSecrets(database.reader, vault, to))
    report.enter(kind, thing, reason);
}
