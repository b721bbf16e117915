/** The state version resource: one state of a workspace, and what was parsed from it. */
import { z } from "zod";
import { type WorkspacePermissionInput, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { choiceParameter, textParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { Fault } from "../../../kernel/errors.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import { backingDataOperations } from "../../shared/backing-data.ts";
import { base64, bodyBytesMax, inRequestBytesMax, md5, requestFaults, tooLargeMessage } from "./request.ts";

const statuses = [
  "pending",
  "finalized",
  "discarded",
  "backing_data_soft_deleted",
  "backing_data_permanently_deleted",
] as const;

export interface AdjacentStateVersions {
  readonly previousId: string | null;
  readonly previousPosition: number | null;
  readonly nextId: string | null;
  readonly nextPosition: number | null;
}

export interface StateVersionView
  extends StateVersionTable, AdjacentStateVersions, WorkspacePermissionInput, OrganizationFacts {
  readonly workspaceName: string;
  /** Raised when the workspace is renamed. */
  readonly workspaceNameVersion: number;
  readonly currentStateVersionId: string | null;
  readonly lockExpiresAt: string | null;
  /** Includes upload URLs only for the creator of a pending version. */
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
const statusFilter = choiceParameter(statuses, "Returns only state versions with this status.");

const list = {
  method: "GET",
  path: "/state-versions",
  summary: "List a workspace's state versions, newest first",
  needs: stateReaders,
  answer: "list",
} as const satisfies Partial<Operation>;

const upload = {
  method: "PUT",
  summary: "Upload the content of a state version",
  needs: "the signed upload URL from the creation of the state version, before it expires; no token",
  isSigned: true,
  body: { stream: true },
  query: {
    parameters: {
      expires: textParameter("When the URL expires."),
      signature: textParameter("The URL's signature."),
    },
  },
  answer: "nothing",
} as const satisfies Partial<Operation>;

const backingData = backingDataOperations(byId, "nothing", { thing: "a state version's", noun: "content" });

export const stateVersions = defineResource<StateVersionView>()(
  ({ requiredFixed, fixed, readOnly, toOne, toMany }) => ({
    type: "state-versions",
    doc: "One state of a workspace, as an engine wrote it. The content is stored compressed and encrypted.",
    id: (version) => version.id,
    version: (version) => [
      version.version,
      version.organizationFactsVersion,
      version.workspaceNameVersion,
      version.previousPosition ?? 0,
      version.nextPosition ?? 0,
    ],
    isUncacheable: true,
    attributes: {
      serial: requiredFixed(
        wholeNumber({ max: serialMax }),
        "The serial of the state. It never decreases within a lineage.",
      ),
      md5: requiredFixed(md5, "The MD5 of the state in hexadecimal. The service checks the content against it.", {
        shown: false,
      }),
      lineage: fixed(text({ max: 255 }).nullable(), "The lineage of the state.", { shown: false }),
      state: fixed(base64(), "The state in base64. Omit it to send the state to the upload URL.", hidden),
      "json-state": fixed(base64().nullable(), "The state in the engine's JSON output format, in base64.", hidden),
      "json-state-outputs": fixed(
        text({ max: inRequestBytesMax }).nullable(),
        "Accepted for compatibility and ignored: the service reads outputs from the state itself.",
        hidden,
      ),
      force: fixed(flag(), "Whether to skip the checks of serial and lineage. Skipping them can lose state.", hidden),
      "created-at": readOnly(timestamp(), "When the state version was created."),
      status: readOnly(text(), `One of ${statuses.join(", ")}.`),
      intermediate: readOnly(
        flag(),
        "Whether it was written under a lock that has not been released yet. The latest such version becomes the current one when the workspace is unlocked.",
      ),
      size: readOnly(wholeNumber(), "The size of the state in bytes; 0 while the version is pending."),
      "hosted-state-download-url": readOnly(text().nullable(), "The URL to download the state; it needs a token.", {
        from: ({ urls }) => urls.download,
        audited: false,
      }),
      "hosted-json-state-download-url": readOnly(
        text().nullable(),
        "The URL to download the JSON format, if it was uploaded.",
        {
          from: ({ urls }) => urls.jsonDownload,
          audited: false,
        },
      ),
      "hosted-state-upload-url": readOnly(
        text().nullable(),
        "The URL to upload the state with PUT, without a token. Only the creator of the version sees it, while the version is pending.",
        { from: ({ urls }) => urls.upload, audited: false },
      ),
      "hosted-json-state-upload-url": readOnly(text().nullable(), "The URL to upload the JSON format.", {
        from: ({ urls }) => urls.jsonUpload,
        audited: false,
      }),
      "sanitized-state-download-url": readOnly(
        text().nullable(),
        "Always null. The service does not create sanitized states.",
        {
          from: () => null,
          audited: false,
        },
      ),
      "sanitized-state-upload-url": readOnly(
        text().nullable(),
        "Always null. The service does not create sanitized states.",
        {
          from: () => null,
          audited: false,
        },
      ),
      encrypted: readOnly(
        flag(),
        "Whether the engine encrypted the state. The service returns an encrypted state unchanged and can't read the following attributes from it.",
      ),
      "resources-processed": readOnly(
        flag(),
        "Whether the following attributes have been read from the state. A large state takes a moment.",
        { audited: false },
      ),
      "state-version": readOnly(wholeNumber().nullable(), "The version of the state format.", {
        from: ({ format }) => format,
        audited: false,
      }),
      "engine-version": readOnly(text().nullable(), "The version of the engine that wrote the state.", {
        audited: false,
      }),
      "billable-rum-count": readOnly(
        wholeNumber().nullable(),
        "The number of managed resources; null if it is not known.",
        {
          from: ({ resourcesProcessed, encrypted, resourceCount }) =>
            resourcesProcessed === 1 && encrypted === 0 ? resourceCount : null,
          audited: false,
        },
      ),
      modules: readOnly(z.record(z.string(), z.unknown()), "The number of resources of each type, by module.", {
        from: ({ modules }) => json(modules),
        audited: false,
      }),
      providers: readOnly(z.record(z.string(), z.unknown()), "The number of resources of each type, by provider.", {
        from: ({ providers }) => json(providers),
        audited: false,
      }),
      resources: readOnly(z.array(z.unknown()), "The resources with their number of instances; at most 500.", {
        from: ({ resources }) => json(resources),
        audited: false,
      }),
      "vcs-commit-sha": readOnly(text().nullable(), "The commit that the state came from. Always null.", {
        from: () => null,
        audited: false,
      }),
      "vcs-commit-url": readOnly(text().nullable(), "The URL of that commit. Always null.", {
        from: () => null,
        audited: false,
      }),
      permissions: readOnly(flags(shownPermissions), "The caller's permissions on the workspace's states.", {
        from: (version) => {
          const permissions = workspacePermissions(version);
          return Object.fromEntries(shownPermissions.map((name) => [name, permissions[name]]));
        },
        audited: false,
      }),
    },
    relationships: {
      workspace: toOne("workspaces", "The state version's workspace.", {
        id: (version) => version.workspaceId,
        related: (version) => `/api/v2/organizations/${version.organizationName}/workspaces/${version.workspaceName}`,
      }),
      run: toOne(
        "runs",
        "The run that wrote the state. Only a run can set it, and only to itself; the value is ignored from other callers.",
        {
          create: "optional",
          nullable: true,
          id: (version) => version.runId,
        },
      ),
      "created-by": toOne(["users", "teams"], "The user or team that created the state version; null for a run.", {
        nullable: true,
        id: (version) => (version.createdByKind === "run" ? null : version.createdById),
        type: (version) => (version.createdByKind === "team" ? "teams" : "users"),
      }),
      "previous-state-version": toOne("state-versions", "The previous state version of the workspace.", {
        nullable: true,
        id: (version) => version.previousId,
      }),
      "next-state-version": toOne("state-versions", "The next state version of the workspace.", {
        nullable: true,
        id: (version) => version.nextId,
      }),
      outputs: toMany("state-version-outputs", "The outputs.", {
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
            "filter[organization][name]": {
              ...textParameter("The name of the workspace's organization."),
              required: true,
            },
            "filter[workspace][name]": { ...textParameter("The workspace's name."), required: true },
            "filter[status]": statusFilter,
          },
        },
      },
      listWorkspaceStateVersions: {
        ...list,
        path: `${byWorkspace}/state-versions`,
        summary: "List a workspace's state versions by workspace id, newest first",
        query: { paged: true, parameters: { "filter[status]": statusFilter } },
      },
      createStateVersion: {
        method: "POST",
        path: `${byWorkspace}/state-versions`,
        summary: "Create a state version, with its content in the request or for upload",
        needs: stateWriters,
        callers: "runs",
        body: "create",
        bodyMax: { bytes: bodyBytesMax, sentence: tooLargeMessage },
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
        summary: "Roll back to an earlier state: create a new state version with its content and the next serial",
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
        summary: "Show a workspace's current state version",
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
        summary: "Download the state",
        needs: stateReaders,
        callers: "runs",
        answer: "content",
      },
      downloadJsonState: {
        method: "GET",
        path: `${byId}/json-download`,
        summary: "Download the state in JSON format",
        needs: stateReaders,
        callers: "runs",
        answer: "content",
      },
      uploadState: { ...upload, path: `${byId}/upload` },
      uploadJsonState: {
        ...upload,
        path: `${byId}/json-upload`,
        summary: "Upload the content of a state version in JSON format",
      },
      softDeleteBackingData: backingData.softDelete,
      restoreBackingData: backingData.restore,
      permanentlyDeleteBackingData: backingData.permanentlyDelete,
    },
  }),
);
