/** A state version: one state of a workspace, as an engine wrote it, and what was read out of it. */
import { z } from "zod";
import { type WorkspaceFacts, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { choice, textParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { Fault } from "../../../kernel/errors.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import { backingDataOperations } from "../../shared/backing-data.ts";
import { base64, bodyBytesMax, inRequestBytesMax, md5, requestFaults, tooLargeSentence } from "./request.ts";

const statuses = [
  "pending",
  "finalized",
  "discarded",
  "backing_data_soft_deleted",
  "backing_data_permanently_deleted",
] as const;

/** The versions that stand before and after one in its workspace; null where there is none. */
export interface StateVersionNeighbours {
  readonly previousId: string | null;
  readonly previousPosition: number | null;
  readonly nextId: string | null;
  readonly nextPosition: number | null;
}

export interface StateVersionView extends StateVersionTable, StateVersionNeighbours, WorkspaceFacts, OrganizationFacts {
  readonly workspaceName: string;
  /** How often that has changed. */
  readonly workspaceFacts: number;
  readonly currentStateVersionId: string | null;
  /** Of the workspace's lock. */
  readonly lockExpiresAt: string | null;
  /** Where contents are fetched and, by whoever made a pending version, sent; null where there is nothing to. */
  readonly urls: StateVersionUrls;
}

export interface StateVersionUrls {
  readonly download: string | null;
  readonly jsonDownload: string | null;
  readonly upload: string | null;
  readonly jsonUpload: string | null;
}

const serialMax = Number.MAX_SAFE_INTEGER;
const json = (stored: string): JsonText => new JsonText(stored);
const hidden = { shown: false, audited: false, column: false } as const;
/** Those of the workspace that say what may be done with its states. */
const shownPermissions = [
  "can-update",
  "can-read-state-versions",
  "can-read-state-outputs",
  "can-create-state-versions",
] as const;
const stateWriters =
  "'write' on the workspace's state versions, and the workspace's lock; not with an organization's token";
const stateReaders = "'read' on the workspace's state versions";
const byId = "/state-versions/:state_version_id";
const byWorkspace = "/workspaces/:workspace_id";
const versionIncludes = ["created_by", "outputs", "run", "run.created_by", "run.configuration_version"] as const;
const statusFilter = choice(statuses, "Only versions with this status.");

const list = {
  method: "GET",
  path: "/state-versions",
  summary: "List a workspace's state versions, the newest first",
  needs: stateReaders,
  answer: "list",
} as const satisfies Partial<Operation>;

const upload = {
  method: "PUT",
  summary: "Send a state version's content",
  needs: "a signed URL that has not expired, as the state version's creation gave it; no token",
  signed: true,
  body: { stream: true },
  query: {
    parameters: {
      expires: textParameter("Until when the URL is good."),
      signature: textParameter("Our proof that we made it."),
    },
  },
  answer: "nothing",
} as const satisfies Partial<Operation>;

const backingData = backingDataOperations(byId, "nothing", { thing: "a state version's", noun: "content" });

export const stateVersions = defineResource<StateVersionView>()(({ once, fixed, readOnly, toOne, toMany }) => ({
  type: "state-versions",
  doc: "One state of a workspace, as an engine wrote it. Its content is stored compressed and encrypted.",
  id: (version) => version.id,
  version: (version) => [
    version.version,
    version.organizationFacts,
    version.workspaceFacts,
    version.previousPosition ?? 0,
    version.nextPosition ?? 0,
  ],
  hasExpiring: true,
  attributes: {
    serial: once(wholeNumber({ max: serialMax }), "Counts the states of a lineage; it never goes back."),
    md5: once(md5, "The MD5 of the state, in hex: what arrives is checked against it.", { shown: false }),
    lineage: fixed(text({ max: 255 }).nullable(), "Names the history that the state belongs to.", { shown: false }),
    state: fixed(base64(), "The state itself, in base64; left out where it is sent to the upload URL.", hidden),
    "json-state": fixed(base64().nullable(), "The state in the engine's JSON form for others, in base64.", hidden),
    "json-state-outputs": fixed(
      text({ max: inRequestBytesMax }).nullable(),
      "Taken for clients that send it; outputs and their types are read from the state itself.",
      hidden,
    ),
    force: fixed(flag(), "Whether to pass over the checks of serial and lineage. It can lose state.", hidden),
    "created-at": readOnly(timestamp(), "When it was made."),
    status: readOnly(text(), `One of ${statuses.join(", ")}.`),
    intermediate: readOnly(
      flag(),
      "Made under a lock that is still held; the last one becomes current with the unlock.",
    ),
    size: readOnly(wholeNumber(), "The state's size in bytes; 0 until it is there."),
    "hosted-state-download-url": readOnly(text().nullable(), "Where the state is; needs a token.", {
      from: ({ urls }) => urls.download,
      audited: false,
    }),
    "hosted-json-state-download-url": readOnly(text().nullable(), "Where its JSON form is, if it was sent.", {
      from: ({ urls }) => urls.jsonDownload,
      audited: false,
    }),
    "hosted-state-upload-url": readOnly(
      text().nullable(),
      "Where the state is to be sent with PUT, without a token; shown to whoever made the version, while it is pending.",
      { from: ({ urls }) => urls.upload, audited: false },
    ),
    "hosted-json-state-upload-url": readOnly(text().nullable(), "The same for its JSON form.", {
      from: ({ urls }) => urls.jsonUpload,
      audited: false,
    }),
    "sanitized-state-download-url": readOnly(text().nullable(), "Always null: states have no copy without secrets.", {
      from: () => null,
      audited: false,
    }),
    "sanitized-state-upload-url": readOnly(text().nullable(), "Always null, for the same reason.", {
      from: () => null,
      audited: false,
    }),
    encrypted: readOnly(
      flag(),
      "Whether the engine encrypted it before it was sent: it is given back as it came, and nothing of what follows can be read out of it.",
    ),
    "resources-processed": readOnly(
      flag(),
      "Whether what follows was read out of the state as far as it can be; a large one takes a moment.",
      { audited: false },
    ),
    "state-version": readOnly(wholeNumber().nullable(), "The version of the state's format.", {
      from: ({ format }) => format,
      audited: false,
    }),
    "engine-version": readOnly(text().nullable(), "The engine that wrote it.", { audited: false }),
    "billable-rum-count": readOnly(
      wholeNumber().nullable(),
      "How many managed resources it has; null where that is not known.",
      {
        from: ({ resourcesProcessed, encrypted, resourceCount }) =>
          resourcesProcessed === 1 && encrypted === 0 ? resourceCount : null,
        audited: false,
      },
    ),
    modules: readOnly(z.record(z.string(), z.unknown()), "How many resources of each type, by module.", {
      from: ({ modules }) => json(modules),
      audited: false,
    }),
    providers: readOnly(z.record(z.string(), z.unknown()), "The same by provider.", {
      from: ({ providers }) => json(providers),
      audited: false,
    }),
    resources: readOnly(z.array(z.unknown()), "Its resources with their number; at most 500 are listed here.", {
      from: ({ resources }) => json(resources),
      audited: false,
    }),
    "vcs-commit-sha": readOnly(text().nullable(), "The commit that it came from.", {
      from: () => null,
      audited: false,
    }),
    "vcs-commit-url": readOnly(text().nullable(), "Where that commit is.", { from: () => null, audited: false }),
    permissions: readOnly(flags(shownPermissions), "What the caller may do with the workspace's states.", {
      from: (version) => {
        const held = workspacePermissions(version);
        return Object.fromEntries(shownPermissions.map((name) => [name, held[name]]));
      },
      audited: false,
    }),
  },
  relationships: {
    workspace: toOne("workspaces", "The workspace whose state it is.", {
      id: (version) => version.workspaceId,
      related: (version) => `/api/v2/organizations/${version.organizationName}/workspaces/${version.workspaceName}`,
    }),
    run: toOne("runs", "The run that wrote it; a run may name itself, and nobody else is believed.", {
      create: "optional",
      nullable: true,
      id: (version) => version.runId,
    }),
    "created-by": toOne(["users", "teams"], "Who wrote it; null where a run did.", {
      nullable: true,
      id: (version) => (version.createdByKind === "run" ? null : version.createdById),
      type: (version) => (version.createdByKind === "team" ? "teams" : "users"),
    }),
    "previous-state-version": toOne("state-versions", "The version before it in its workspace.", {
      nullable: true,
      id: (version) => version.previousId,
    }),
    "next-state-version": toOne("state-versions", "The version after it in its workspace.", {
      nullable: true,
      id: (version) => version.nextId,
    }),
    outputs: toMany("state-version-outputs", "Its outputs.", {
      ids: ({ outputIds }) => (outputIds === "" ? [] : outputIds.split(",")),
      related: (version) => `/api/v2/state-versions/${version.id}/outputs`,
    }),
  },
  links: (version) => ({ self: `/api/v2/state-versions/${version.id}` }),
  bodyFaults: (attributes: Parameters<typeof requestFaults>[0]): readonly Fault[] => requestFaults(attributes),
  operations: {
    listStateVersions: {
      ...list,
      query: {
        paged: true,
        parameters: {
          "filter[organization][name]": { ...textParameter("The workspace's organization."), required: true },
          "filter[workspace][name]": { ...textParameter("The workspace."), required: true },
          "filter[status]": statusFilter,
        },
      },
    },
    listWorkspaceStateVersions: {
      ...list,
      path: `${byWorkspace}/state-versions`,
      summary: "List a workspace's state versions, the newest first, by the workspace's id",
      query: { paged: true, parameters: { "filter[status]": statusFilter } },
    },
    createStateVersion: {
      method: "POST",
      path: `${byWorkspace}/state-versions`,
      summary: "Write a state, or announce one that is sent to the upload URL",
      needs: stateWriters,
      callers: "runs",
      body: "create",
      bodyMax: { bytes: bodyBytesMax, sentence: tooLargeSentence },
      answer: "created",
      example: {
        data: {
          type: "state-versions",
          attributes: {
            serial: 1,
            md5: "d41d8cd98f00b204e9800998ecf8427e",
            lineage: "871d1b4a-e579-fb7c-ffdd-f0c858a647a7",
          },
        },
      },
    },
    rollBackState: {
      method: "PATCH",
      path: `${byWorkspace}/state-versions`,
      summary: "Go back to an earlier state: its content as a new version, with the next serial",
      needs: stateWriters,
      body: {
        custom: z.object({
          data: z.object({
            type: z.literal("state-versions"),
            relationships: z.object({
              "rollback-state-version": z.object({
                data: z.object({ type: z.literal("state-versions"), id: text({ min: 1, max: 256 }) }),
              }),
            }),
          }),
        }),
      },
      answer: "created",
      example: {
        data: {
          type: "state-versions",
          relationships: {
            "rollback-state-version": { data: { type: "state-versions", id: "sv-1234567890abcdef" } },
          },
        },
      },
    },
    showCurrentStateVersion: {
      method: "GET",
      path: `${byWorkspace}/current-state-version`,
      summary: "Show a workspace's state in force",
      needs: stateReaders,
      callers: "runs",
      query: { include: versionIncludes },
      answer: "document",
    },
    showStateVersion: {
      method: "GET",
      path: byId,
      summary: "Show a state version",
      needs: stateReaders,
      callers: "runs",
      query: { include: versionIncludes },
      answer: "document",
    },
    downloadState: {
      method: "GET",
      path: `${byId}/download`,
      summary: "Fetch the state itself",
      needs: stateReaders,
      callers: "runs",
      answer: "content",
    },
    downloadJsonState: {
      method: "GET",
      path: `${byId}/json-download`,
      summary: "Fetch the state's JSON form",
      needs: stateReaders,
      callers: "runs",
      answer: "content",
    },
    uploadState: { ...upload, path: `${byId}/upload` },
    uploadJsonState: { ...upload, path: `${byId}/json-upload`, summary: "Send a state version's content in JSON form" },
    softDeleteBackingData: backingData.softDelete,
    restoreBackingData: backingData.restore,
    permanentlyDeleteBackingData: backingData.permanentlyDelete,
  },
}));
