/** Imports every state version of a workspace, oldest first, unless the workspace has a state of its own here. */
import { AppError } from "../../kernel/errors.ts";
import {
  announceImportedState,
  discardImportedState,
  receiveImportedState,
} from "../../resources/state/state-versions/arrival/import.ts";
import { readStatuses } from "../store.ts";
import { MissingResource, numberOf, relatedId, textOf, type WireResource } from "../wire.ts";
import type { Importer } from "./importer.ts";
import type { MemberDirectory } from "./people.ts";

const kind = "state-versions";
const attemptsMax = 3;

export interface WorkspaceHistory {
  readonly workspace: WireResource;
  readonly localId: string;
  readonly label: string;
  readonly people: MemberDirectory;
}

export async function importStates(importer: Importer, history: WorkspaceHistory): Promise<void> {
  const { label, localId } = history;
  const versions = await listSourceVersions(importer, history);
  if (importer.dry) return countOnly(importer, label, versions);
  const statuses = await readStatuses(importer.request.context.database.reader, localId);
  let after: string | undefined;
  for (const [index, version] of versions.entries()) {
    importer.request.signal?.throwIfAborted();
    const linked = importer.localIdOf(kind, version.id);
    const status = linked === undefined ? undefined : (statuses.get(linked) ?? "gone");
    if (linked !== undefined && status !== "pending" && status !== "discarded") {
      // Content that was removed here, also by a retention policy, is not imported again.
      importer.report.count(kind, "existing");
      if (status !== "gone") after = linked;
      continue;
    }
    try {
      after =
        (await importState(importer, history, version, {
          after,
          announced: status === "pending" ? linked : undefined,
        })) ?? after;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "conflict") throw error;
      // The workspace is used here: report the remaining versions as one gap.
      const remaining = versions.length - index;
      importer.report.count(kind, "skipped", remaining);
      importer.report.gap(kind, `${label}, ${remaining} from serial ${numberOf(version, "serial")} on`, error.message);
      return;
    }
  }
}

function countOnly(importer: Importer, label: string, versions: readonly WireResource[]): void {
  for (const version of versions) {
    if (importer.localIdOf(kind, version.id) !== undefined) importer.report.count(kind, "existing");
    else if (obstacleOf(version) === undefined) importer.report.count(kind, "imported");
    else importer.report.skip(kind, `${label}, serial ${numberOf(version, "serial")}`, obstacleOf(version) ?? "");
  }
}

/** Some servers have only one of the two lists. */
async function listSourceVersions(importer: Importer, { workspace, label }: WorkspaceHistory): Promise<WireResource[]> {
  const query = new URLSearchParams({
    "filter[organization][name]": importer.request.from,
    "filter[workspace][name]": label,
  });
  const paths = [`/state-versions?${query.toString()}`, `/workspaces/${workspace.id}/state-versions`];
  for (const [index, path] of paths.entries()) {
    try {
      const versions: WireResource[] = [];
      for await (const page of importer.source.pages(path)) versions.push(...page.resources);
      return versions.toReversed();
    } catch (error) {
      if (!(error instanceof MissingResource)) throw error;
      if (index === paths.length - 1) importer.report.gap(kind, label, error.message);
    }
  }
  return [];
}

function obstacleOf(version: WireResource): string | undefined {
  const status = textOf(version, "status");
  if (status === undefined || status === "finalized") return undefined;
  if (status === "pending") return "its content has not been uploaded to the source yet; import again later";
  return `its status at the source is ${status}, so it has no content`;
}

interface StateImportPosition {
  readonly after: string | undefined;
  /** An interrupted import created it without its content. */
  readonly announced: string | undefined;
}

/** Throws `conflict`. */
async function importState(
  importer: Importer,
  history: WorkspaceHistory,
  version: WireResource,
  { after, announced }: StateImportPosition,
): Promise<string | undefined> {
  const { context } = importer.request;
  const label = `${history.label}, serial ${numberOf(version, "serial")}`;
  const obstacle = obstacleOf(version);
  if (obstacle !== undefined) {
    importer.report.skip(kind, label, obstacle);
    return undefined;
  }
  let id = announced;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const bytes = await contentOf(importer, version);
      id ??= await announce(importer, history, version, after);
      try {
        await receiveImportedState(context, history.localId, id, bytes);
        break;
      } catch (error) {
        // The download was interrupted.
        if (attempt === attemptsMax || !(error instanceof AppError) || error.code !== "bad-request") throw error;
      }
    }
  } catch (error) {
    const isOwn = error instanceof MissingResource || (error instanceof AppError && isAboutContent(error));
    if (!isOwn) throw error;
    if (id !== undefined) await discardImportedState(context, history.localId, id);
    importer.report.skip(kind, label, error.message);
    return undefined;
  }
  importer.report.count(kind, "imported");
  return id;
}

const isAboutContent = ({ code }: AppError): boolean => ["bad-request", "invalid", "too-large"].includes(code);

/** Fetches a new download URL if the document's has expired. Throws MissingResource. */
async function contentOf(importer: Importer, version: WireResource): Promise<AsyncIterable<Uint8Array>> {
  const addressOf = (thing: WireResource) =>
    textOf(thing, "hosted-state-download-url") ?? `${importer.source.base}/state-versions/${thing.id}/download`;
  try {
    return await importer.source.content(addressOf(version));
  } catch (error) {
    if (!(error instanceof MissingResource)) throw error;
    return importer.source.content(addressOf(await importer.source.get(`/state-versions/${version.id}`)));
  }
}

async function announce(
  importer: Importer,
  { localId, people }: WorkspaceHistory,
  version: WireResource,
  after: string | undefined,
): Promise<string> {
  const creatorId = relatedId(version, "created-by");
  const state = {
    serial: numberOf(version, "serial"),
    lineage: textOf(version, "lineage") ?? null,
    createdAt: timestampOf(textOf(version, "created-at")),
    author: { userId: people.userId(creatorId), name: people.name(creatorId) ?? "" },
    runId: importer.localIdOf("runs", relatedId(version, "run")) ?? null,
    after,
  };
  return announceImportedState(importer.request.context, localId, state, (tx, id) =>
    importer.link([{ kind, sourceId: version.id, ourId: id }], tx),
  );
}

export function timestampOf(text: string | undefined): string {
  const ms = Date.parse(text ?? "");
  return new Date(Number.isNaN(ms) ? Date.now() : ms).toISOString();
}
