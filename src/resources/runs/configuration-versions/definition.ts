/** The configuration-versions resource: attributes, relationships and operations. */
import { z } from "zod";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag, text } from "../../../jsonapi/schemas.ts";
import { backingDataOperations } from "../../shared/backing-data.ts";

const statuses = [
  "pending",
  "fetching",
  "uploaded",
  "errored",
  "archived",
  "backing_data_soft_deleted",
  "backing_data_permanently_deleted",
] as const;
export type ConfigurationStatus = (typeof statuses)[number];

const vcsSources = ["github", "gitlab", "bitbucket", "ado", "gitea"] as const;
export type VcsSource = (typeof vcsSources)[number];

export interface ConfigurationVersionView extends ConfigurationVersionTable, WorkspacePermissionInput {
  readonly currentConfigurationVersionId: string | null;
  /** Only in the response to the creation. */
  readonly uploadUrl: string | null;
  readonly runId?: string | null;
}

const byId = "/configuration-versions/:configuration_version_id";
const byWorkspace = "/workspaces/:workspace_id/configuration-versions";
const ofRun = "/runs/:run_id/configuration-version";
const readers = "read access to the workspace's runs";
const include = ["ingress_attributes", "run"] as const;

const show = {
  method: "GET",
  path: byId,
  summary: "Show a configuration version",
  needs: readers,
  query: { include },
  answer: "document",
} as const satisfies Operation;

const download = {
  method: "GET",
  path: `${byId}/download`,
  summary: "Download the archive, as it was uploaded",
  needs: readers,
  callers: "runs",
  answer: "content",
  mediaType: "application/gzip",
} as const satisfies Operation;

const backingData = backingDataOperations(byId, "done", { thing: "a configuration's", noun: "archive" });

export const configurationVersions = defineResource<ConfigurationVersionView>()(({ fixed, readOnly, toOne }) => ({
  type: "configuration-versions",
  doc: "A version of a workspace's configuration: a gzip-compressed tar archive of a directory, stored unchanged and encrypted.",
  id: (version) => version.id,
  version: (version) => version.version,
  attributes: {
    "auto-queue-runs": fixed(flag(), "Whether a run is queued automatically when the archive is uploaded.", {
      default: true,
    }),
    speculative: fixed(flag(), "Whether runs with this configuration are plan-only by default.", { default: false }),
    provisional: fixed(
      flag(),
      "If true, the configuration becomes current when a run with it is applied, unless a newer one is current.",
      { default: false },
    ),
    source: readOnly(
      text(),
      `The source of the configuration: \`tfe-api\`, \`tfe-ui\`, \`terraform\`, ${vcsSources.map((each) => `\`${each}\``).join(", ")}.`,
    ),
    status: readOnly(text(), `One of ${statuses.join(", ")}. Only an uploaded configuration version can start runs.`),
    "status-timestamps": readOnly(
      z.record(z.string(), z.string()),
      "When the version reached each status: `queued-at`, `fetching-at`, `started-at`, `finished-at` and `archived-at`; absent until then.",
      { from: ({ statusTimestamps }) => new JsonText(statusTimestamps), audited: false },
    ),
    error: readOnly(text().nullable(), "A code that says why it is errored."),
    "error-message": readOnly(text().nullable(), "A message that says why it is errored."),
    "upload-url": readOnly(
      text().nullable(),
      "The URL to upload the archive to with PUT, without a token. It expires after an hour, and is only shown when the version is created.",
      { audited: false },
    ),
  },
  relationships: {
    "ingress-attributes": toOne("ingress-attributes", "The commit of the configuration; null if it was uploaded.", {
      nullable: true,
      id: ({ ingressId }) => ingressId,
      related: ({ id }) => `/api/v2/configuration-versions/${id}/ingress-attributes`,
    }),
    run: toOne("runs", "The latest run of this configuration; only with `include=run`.", {
      nullable: true,
      id: ({ runId }) => runId,
    }),
  },
  links: ({ id }) => ({
    self: `/api/v2/configuration-versions/${id}`,
    download: `/api/v2/configuration-versions/${id}/download`,
  }),
  operations: {
    listConfigurationVersions: {
      method: "GET",
      path: byWorkspace,
      summary: "List a workspace's configuration versions, newest first",
      needs: readers,
      query: { paged: true, include },
      answer: "list",
    },
    createConfigurationVersion: {
      method: "POST",
      path: byWorkspace,
      summary: "Create a configuration version, and get the URL to upload its archive to",
      needs: "'plan' on the workspace's runs; not with an organization's token",
      body: "optional-create",
      answer: "created",
      example: { data: { type: "configuration-versions", attributes: { "auto-queue-runs": false } } },
    },
    showConfigurationVersion: show,
    showConfigurationVersionOfRun: {
      ...show,
      path: ofRun,
      summary: "Show the configuration version of a run",
    },
    downloadConfiguration: download,
    downloadConfigurationOfRun: {
      ...download,
      path: `${ofRun}/download`,
      summary: "Download the archive of a run's configuration, as it was uploaded",
    },
    uploadConfiguration: {
      method: "PUT",
      path: `${byId}/upload`,
      summary: "Upload the archive: a gzip-compressed tar of a directory",
      needs: "the upload-url of the configuration version, which expires; no token",
      isSigned: true,
      body: { stream: true },
      query: {
        parameters: {
          expires: textParameter("When the URL expires."),
          signature: textParameter("The signature of the URL."),
        },
      },
      answer: "done",
    },
    archiveConfigurationVersion: {
      method: "POST",
      path: `${byId}/actions/archive`,
      summary: "Delete the archive of a configuration version that is no longer needed",
      needs: "'plan' on the workspace's runs; not with an organization's token",
      answer: "accepted",
    },
    softDeleteConfigurationBackingData: backingData.softDelete,
    restoreConfigurationBackingData: backingData.restore,
    permanentlyDeleteConfigurationBackingData: backingData.permanentlyDelete,
  },
}));
