/** The order in which an organization is brought: nothing comes before what it depends on. */
import { AppError } from "../../kernel/errors.ts";
import { eachAtOnce } from "../at-once.ts";
import { listMissingSecrets } from "../report.ts";
import { bodyOf, linkage, relatedId, type Thing } from "../wire.ts";
import { bringAgentPools, bringSshKeys, findVersionControl, settleAgentPools } from "./connections.ts";
import { Hand, type ImportRequest } from "./hand.ts";
import { bringOrganization, bringRules, nameUnknown, settleDefaults } from "./organization.ts";
import { bringMembers, bringTeams } from "./people.ts";
import { bringProjects } from "./projects.ts";
import { bringVarsets } from "./variables.ts";
import { bringWorkspaces, type Followed } from "./workspaces.ts";

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

/** What ties workspaces to each other, once all of them are here: consumers of states, and run triggers. */
async function bringTies(hand: Hand, followed: readonly Followed[]): Promise<void> {
  await eachAtOnce(followed, hand.request.concurrency, async (workspace) => {
    if (workspace.sharesOneByOne) await bringConsumers(hand, workspace);
    await bringTriggers(hand, workspace);
  });
}

const consumersKind = "remote-state-consumers";

async function bringConsumers(hand: Hand, { sourceId, ours, label }: Followed): Promise<void> {
  const rest = `/relationships/${consumersKind}`;
  const consumers = (await hand.listThere(consumersKind, label, `/workspaces/${sourceId}${rest}`)) ?? [];
  const wanted = pairs(hand, consumersKind, sourceId, label, consumers);
  if (wanted.length === 0) return;
  const ids = wanted.map(({ ourId }) => ourId);
  const done = await hand.attempt(consumersKind, label, async () => {
    if (!hand.dry) await hand.door.send("POST", `/workspaces/${ours}${rest}`, linkage("workspaces", ids));
    return true;
  });
  if (done === undefined) return;
  await hand.link(wanted);
  hand.report.count(consumersKind, "brought", wanted.length);
}

/** Those that were not brought yet, with the workspaces that they are here. */
function pairs(hand: Hand, kind: string, sourceId: string, label: string, others: readonly Thing[]) {
  return others.flatMap((other) => {
    const [ourId, pair] = [hand.ours("workspaces", other.id), `${sourceId} ${other.id}`];
    if (hand.ours(kind, pair) !== undefined) hand.report.count(kind, "here");
    else if (ourId === undefined) hand.report.left(kind, `${label}, ${other.id}`, "that workspace is not here");
    else return [{ kind, sourceId: pair, ourId }];
    return [];
  });
}

async function bringTriggers(hand: Hand, { sourceId, ours, label }: Followed): Promise<void> {
  const kind = "run-triggers";
  const query = "filter[run-trigger][type]=inbound";
  for (const trigger of await hand.listIfThere(`/workspaces/${sourceId}/${kind}?${query}`)) {
    const theirs = relatedId(trigger, "sourceable") ?? "";
    const source = hand.ours("workspaces", theirs);
    if (source === undefined) {
      hand.report.left(kind, `${label}, ${theirs}`, "that workspace is not here");
      continue;
    }
    const done = await hand.once(kind, trigger.id, label, async () => {
      const relationships = { sourceable: { data: { type: "workspaces", id: source } } };
      try {
        await hand.door.send("POST", `/workspaces/${ours}/${kind}`, bodyOf(kind, {}, relationships));
      } catch (error) {
        // An import that was interrupted made it, and had no time to remember.
        if (!(error instanceof AppError) || !error.message.includes("already")) throw error;
      }
    });
    hand.report.count(kind, done ? "brought" : "here");
  }
}
