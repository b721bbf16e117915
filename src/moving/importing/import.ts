/** Imports an organization, in the order of dependencies. */
import { AppError } from "../../kernel/errors.ts";
import { forEachConcurrently } from "../concurrency.ts";
import { listMissingSecrets } from "../report.ts";
import { bodyOf, linkage, relatedId, type WireResource } from "../wire.ts";
import { importAgentPools, importSshKeys, findVcsTokens, restrictAgentPools } from "./connections.ts";
import { importAccessOffers, importAccessRules } from "./governance.ts";
import { Importer, type ImportRequest } from "./importer.ts";
import { importOrganizationRecord, importRules, reportUnsupported, importDefaults } from "./organization.ts";
import { importMembers, importTeams } from "./people.ts";
import { importProjects } from "./projects.ts";
import { importVarsets } from "./variables.ts";
import { importWorkspaces, type ImportedWorkspace } from "./workspaces.ts";

/** Throws AppError for errors that end the import; what it imported until then stays. */
export async function importOrganization(request: ImportRequest): Promise<void> {
  const importer = new Importer(request);
  const organization = await importOrganizationRecord(importer);
  await importRules(importer, organization);
  await importTeams(importer);
  const people = await importMembers(importer);
  await importSshKeys(importer);
  const pools = await importAgentPools(importer);
  const vcsTokens = await findVcsTokens(importer);
  await importDefaults(importer, organization, relatedId(organization, "default-agent-pool"));
  await importProjects(importer, organization);
  const imported = await importWorkspaces(importer, { people, vcsTokens });
  await importVarsets(importer);
  await importWorkspaceLinks(importer, imported);
  await restrictAgentPools(importer, pools);
  await importAccessRules(importer, people);
  await importAccessOffers(importer, people);
  await reportUnsupported(importer);
  await listSecrets(request);
}

/** A dry run has already added the secrets that it would import. */
async function listSecrets({ context: { database, vault }, to, report }: ImportRequest): Promise<void> {
  for (const { kind, thing, reason } of await listMissingSecrets(database.reader, vault, to))
    report.addMissingSecret(kind, thing, reason);
}

/** Needs all workspaces to exist. */
async function importWorkspaceLinks(importer: Importer, imported: readonly ImportedWorkspace[]): Promise<void> {
  await forEachConcurrently(imported, importer.request.concurrency, async (workspace) => {
    if (workspace.sharesOneByOne) await importConsumers(importer, workspace);
    await importTriggers(importer, workspace);
  });
}

const consumersKind = "remote-state-consumers";

async function importConsumers(importer: Importer, { sourceId, localId, label }: ImportedWorkspace): Promise<void> {
  const rest = `/relationships/${consumersKind}`;
  const consumers = (await importer.listSource(consumersKind, label, `/workspaces/${sourceId}${rest}`)) ?? [];
  const pending = pairs(importer, consumersKind, sourceId, label, consumers);
  if (pending.length === 0) return;
  const ids = pending.map(({ ourId }) => ourId);
  const done = await importer.attempt(consumersKind, label, async () => {
    if (!importer.dry) await importer.api.send("POST", `/workspaces/${localId}${rest}`, linkage("workspaces", ids));
    return true;
  });
  if (done === undefined) return;
  await importer.link(pending);
  importer.report.count(consumersKind, "imported", pending.length);
}

function pairs(importer: Importer, kind: string, sourceId: string, label: string, others: readonly WireResource[]) {
  return others.flatMap((other) => {
    const [ourId, pair] = [importer.localIdOf("workspaces", other.id), `${sourceId} ${other.id}`];
    if (importer.localIdOf(kind, pair) !== undefined) importer.report.count(kind, "existing");
    else if (ourId === undefined) importer.report.skip(kind, `${label}, ${other.id}`, "the workspace was not imported");
    else return [{ kind, sourceId: pair, ourId }];
    return [];
  });
}

async function importTriggers(importer: Importer, { sourceId, localId, label }: ImportedWorkspace): Promise<void> {
  const kind = "run-triggers";
  const query = "filter[run-trigger][type]=inbound";
  for (const trigger of await importer.listSourceIfAny(`/workspaces/${sourceId}/${kind}?${query}`)) {
    const theirs = relatedId(trigger, "sourceable") ?? "";
    const source = importer.localIdOf("workspaces", theirs);
    if (source === undefined) {
      importer.report.skip(kind, `${label}, ${theirs}`, "the workspace was not imported");
      continue;
    }
    const done = await importer.runOnce(kind, trigger.id, label, async () => {
      const relationships = { sourceable: { data: { type: "workspaces", id: source } } };
      try {
        await importer.api.send("POST", `/workspaces/${localId}/${kind}`, bodyOf(kind, {}, relationships));
      } catch (error) {
        // An interrupted import can have created it without recording the link.
        if (!(error instanceof AppError) || !error.message.includes("already")) throw error;
      }
    });
    importer.report.count(kind, done ? "imported" : "existing");
  }
}
