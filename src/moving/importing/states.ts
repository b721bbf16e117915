/** Every state version of a workspace with its content, the oldest first, as long as nobody here has written one since. */
import { AppError } from "../../kernel/errors.ts";
import {
  announceHistoricState,
  discardHistoricState,
  receiveHistoricState,
} from "../../resources/state/state-versions/arrival/history.ts";
import { readStatuses } from "../store.ts";
import { Missing, numberOf, relatedId, textOf, type Thing } from "../wire.ts";
import type { Hand } from "./hand.ts";
import type { People } from "./people.ts";

const kind = "state-versions";
const attemptsMax = 3;

export interface HistoryOf {
  readonly workspace: Thing;
  readonly ours: string;
  readonly label: string;
  readonly people: People;
}

export async function bringStates(hand: Hand, history: HistoryOf): Promise<void> {
  const { label, ours } = history;
  const versions = await versionsThere(hand, history);
  if (hand.dry) return countOnly(hand, label, versions);
  const statuses = await readStatuses(hand.request.context.database.reader, ours);
  let after: string | undefined;
  for (const [index, version] of versions.entries()) {
    hand.request.signal?.throwIfAborted();
    const linked = hand.ours(kind, version.id);
    const status = linked === undefined ? undefined : (statuses.get(linked) ?? "gone");
    if (linked !== undefined && status !== "pending" && status !== "discarded") {
      // One whose content was removed here, or that a retention policy took, is not brought again.
      hand.report.count(kind, "here");
      if (status !== "gone") after = linked;
      continue;
    }
    try {
      after =
        (await bringState(hand, history, version, { after, awaited: status === "pending" ? linked : undefined })) ??
        after;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "conflict") throw error;
      // Somebody works here: what is left does not come, and is told as one gap.
      const left = versions.length - index;
      hand.report.count(kind, "left", left);
      hand.report.gap(kind, `${label}, ${left} from serial ${numberOf(version, "serial")} on`, error.message);
      return;
    }
  }
}

function countOnly(hand: Hand, label: string, versions: readonly Thing[]): void {
  for (const version of versions) {
    if (hand.ours(kind, version.id) !== undefined) hand.report.count(kind, "here");
    else if (obstacleOf(version) === undefined) hand.report.count(kind, "brought");
    else hand.report.left(kind, `${label}, serial ${numberOf(version, "serial")}`, obstacleOf(version) ?? "");
  }
}

/** The oldest first. Older servers know only one of the two lists. */
async function versionsThere(hand: Hand, { workspace, label }: HistoryOf): Promise<Thing[]> {
  const query = new URLSearchParams({
    "filter[organization][name]": hand.request.from,
    "filter[workspace][name]": label,
  });
  const paths = [`/state-versions?${query.toString()}`, `/workspaces/${workspace.id}/state-versions`];
  for (const [index, path] of paths.entries()) {
    try {
      const versions: Thing[] = [];
      for await (const page of hand.peer.pages(path)) versions.push(...page.things);
      return versions.toReversed();
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      if (index === paths.length - 1) hand.report.gap(kind, label, error.message);
    }
  }
  return [];
}

/** Why the content of a version can't come, if it can't. */
function obstacleOf(version: Thing): string | undefined {
  const status = textOf(version, "status");
  if (status === undefined || status === "finalized") return undefined;
  if (status === "pending") return "its content has not arrived at the source; it comes when the import is repeated";
  return `it is ${status} at the source, and has no content there`;
}

interface Succession {
  readonly after: string | undefined;
  /** Announced by an import that was interrupted. */
  readonly awaited: string | undefined;
}

/** Its id here; undefined where it does not come. Raises `conflict`. */
async function bringState(
  hand: Hand,
  history: HistoryOf,
  version: Thing,
  { after, awaited }: Succession,
): Promise<string | undefined> {
  const { context } = hand.request;
  const label = `${history.label}, serial ${numberOf(version, "serial")}`;
  const obstacle = obstacleOf(version);
  if (obstacle !== undefined) {
    hand.report.left(kind, label, obstacle);
    return undefined;
  }
  let id = awaited;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const bytes = await contentOf(hand, version);
      id ??= await announce(hand, history, version, after);
      try {
        await receiveHistoricState(context, history.ours, id, bytes);
        break;
      } catch (error) {
        // The source broke off in the middle.
        if (attempt === attemptsMax || !(error instanceof AppError) || error.code !== "bad-request") throw error;
      }
    }
  } catch (error) {
    const isOwn = error instanceof Missing || (error instanceof AppError && isAboutContent(error));
    if (!isOwn) throw error;
    if (id !== undefined) await discardHistoricState(context, history.ours, id);
    hand.report.left(kind, label, error.message);
    return undefined;
  }
  hand.report.count(kind, "brought");
  return id;
}

const isAboutContent = ({ code }: AppError): boolean => ["bad-request", "invalid", "too-large"].includes(code);

/** By the address that its document names; by a new one where that has expired. Raises Missing. */
async function contentOf(hand: Hand, version: Thing): Promise<AsyncIterable<Uint8Array>> {
  const addressOf = (thing: Thing) =>
    textOf(thing, "hosted-state-download-url") ?? `${hand.peer.base}/state-versions/${thing.id}/download`;
  try {
    return await hand.peer.content(addressOf(version));
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    return hand.peer.content(addressOf(await hand.peer.get(`/state-versions/${version.id}`)));
  }
}

async function announce(
  hand: Hand,
  { ours, people }: HistoryOf,
  version: Thing,
  after: string | undefined,
): Promise<string> {
  const maker = relatedId(version, "created-by");
  const state = {
    serial: numberOf(version, "serial"),
    lineage: textOf(version, "lineage") ?? null,
    createdAt: momentOf(textOf(version, "created-at")),
    maker: { userId: people.userId(maker), name: people.name(maker) ?? "" },
    runId: hand.ours("runs", relatedId(version, "run")) ?? null,
    after,
  };
  return announceHistoricState(hand.request.context, ours, state, (tx, id) =>
    hand.link([{ kind, sourceId: version.id, ourId: id }], tx),
  );
}

/** As we write moments; now, where it is none. */
export function momentOf(text: string | undefined): string {
  const ms = Date.parse(text ?? "");
  return new Date(Number.isNaN(ms) ? Date.now() : ms).toISOString();
}
