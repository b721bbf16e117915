/** Compares two states in memory, as streams from their stored contents. */
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { AppError, conflict } from "../../../kernel/errors.ts";
import { StateFileReader } from "../../../statefile/state-file.ts";
import type { StateInstance } from "../../../statefile/state-resources.ts";
import { InstanceTextReader } from "../../../statefile/state-instances.ts";
import { findContent, readContent, type StoredContent } from "../../shared/contents/contents.ts";
import { ConcurrencyLimit } from "../../shared/contents/concurrency-limit.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { StateVersionView } from "../state-versions/definition.ts";
import { stateVersionOwner } from "../state-versions/kinds.ts";
import { findPreviousVersion, loadStateVersion } from "../state-versions/reads.ts";
import { pageBudget } from "./attributes.ts";
import { type StateChange, stateVersionChanges } from "./definition.ts";
import { changedFingerprints, differencesOf, type StateInventory, emptyInventory, withAttributes } from "./rules.ts";

/** Limits the memory of one request: two states of this size take about 100 MB. */
const instancesMax = 100_000;

const comparedBytesMax = 32 * 1024 * 1024;

const comparisons = new ConcurrencyLimit("Too many states are being compared at the same time. Try again shortly.", {
  all: 4,
  organization: 2,
});

export const stateVersionChangeResource = implement(stateVersionChanges, {
  /** Throws `not-found`, `bad-request` for a version of another workspace, and `conflict` for states that can't be compared. */
  async listStateVersionChanges({ context, params, query }) {
    const version = await loadStateVersion(context.database.reader, context, params.stateVersionId);
    const since = await loadBaseVersion(context, version, query.since);
    refuseUnreadable(version);
    if (since !== undefined) refuseUnreadable(since);
    const { filterKind: kind, filterChange: change, page } = query;
    return comparisons.run({ organization: version.organizationId }, async () => {
      const before = since === undefined ? undefined : await readState(context, since);
      const after = await readState(context, version);
      const changes = differencesOf(before ?? emptyInventory, after).filter(
        (view) => (kind === undefined || view.kind === kind) && (change === undefined || view.change === change),
      );
      const start = (page.number - 1) * page.size;
      const views = changes.slice(start, start + page.size);
      return {
        views: before === undefined ? views : await withAttributeChanges(context, views, before, after),
        totalCount: changes.length,
      };
    });
  },
});

/** Reads both states a second time. Skips large states. */
async function withAttributeChanges(
  context: Context,
  views: readonly StateChange[],
  before: ComparedState,
  after: ComparedState,
): Promise<readonly StateChange[]> {
  if (
    Math.max(before.content.size, after.content.size) > comparedBytesMax ||
    changedFingerprints(views, after).size === 0
  )
    return views;
  const textsOf = async (state: ComparedState) => {
    const reader = new InstanceTextReader(changedFingerprints(views, state));
    for await (const piece of readContent(context, state.content)) reader.write(piece);
    return { ...state, texts: reader.texts };
  };
  const [old, current, budget] = [await textsOf(before), await textsOf(after), pageBudget()];
  const detailed: StateChange[] = [];
  for (const view of views) {
    detailed.push(withAttributes(view, old, current, budget));
    // A page can contain megabytes of instances.
    await yieldToOthers();
  }
  return detailed;
}

interface ComparedState extends StateInventory {
  readonly content: StoredContent;
}

type ComparedVersion = Pick<StateVersionView, "id" | "status" | "encrypted" | "serial">;

/** Undefined for the first state of a workspace. Throws `bad-request`. */
async function loadBaseVersion(
  context: Context,
  version: StateVersionView,
  sinceId: string | undefined,
): Promise<ComparedVersion | undefined> {
  const tx = context.database.reader;
  if (sinceId === undefined) return findPreviousVersion(tx, version);
  const since = await loadStateVersion(tx, context, sinceId).catch(() => undefined);
  if (since?.workspaceId === version.workspaceId) return since;
  const detail = "The query parameter since must be the id of a state version of the same workspace.";
  throw new AppError("bad-request", [{ parameter: "since", detail }]);
}

function refuseUnreadable({ id, status, encrypted }: ComparedVersion): void {
  if (status !== "finalized") throw conflict(`The state version ${id} has no content to compare: it is ${status}.`);
  if (encrypted === 1)
    throw conflict(
      `The engine encrypted the state version ${id}, so the service can't read it. Compare the states where the encryption key is available.`,
    );
}

async function readState(context: Context, { id }: ComparedVersion): Promise<ComparedState> {
  const content = await findContent(context.database.reader, stateVersionOwner(id), "state");
  if (content === undefined) throw conflict(`The content of the state version ${id} was deleted.`);
  const reader = new StateFileReader();
  const instances = new Map<string, StateInstance>();
  const takeInstances = () => {
    // A duplicate address makes a state invalid; the first one wins.
    for (const instance of reader.takeInstances())
      if (!instances.has(instance.address)) instances.set(instance.address, instance);
    if (instances.size > instancesMax)
      throw conflict(
        `The state version ${id} has more than ${instancesMax} resources, too many to compare. Download both states and compare them locally.`,
      );
  };
  for await (const piece of readContent(context, content)) {
    reader.write(piece);
    takeInstances();
  }
  const file = reader.end();
  takeInstances();
  if (file.format !== 4)
    throw conflict(`The state version ${id} has the format ${file.format}; only states of format 4 can be compared.`);
  return { content, instances, outputs: file.outputs };
}
