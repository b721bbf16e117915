/** What ties workspaces to each other, once all of them are here: who reads whose state, and whose applies start runs where. */
import { AppError } from "../../kernel/errors.ts";
import { eachAtOnce } from "../at-once.ts";
import { bodyOf, linkage, relatedId, type Thing } from "../wire.ts";
import type { Hand } from "./hand.ts";
import type { Followed } from "./workspaces.ts";

export async function bringTies(hand: Hand, followed: readonly Followed[]): Promise<void> {
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
