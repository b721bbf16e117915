/** A configuration version: one state of a workspace's configuration, as an archive that was sent or fetched. */
import { z } from "zod";
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
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

export interface ConfigurationVersionView extends ConfigurationVersionTable, WorkspaceFacts {
  readonly currentConfigurationVersionId: string | null;
  /** Where the archive is to be sent; only in the answer to whoever made the version. */
  readonly uploadUrl: string | null;
  /** The latest run with it, null without one; undefined where it was not asked for. */
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
  summary: "Fetch the archive, as it was sent",
  needs: readers,
  callers: "runs",
  answer: "content",
  mediaType: "application/gzip",
} as const satisfies Operation;

const backingData = backingDataOperations(byId, "done", { thing: "a configuration's", noun: "archive" });

export const configurationVersions = defineResource<ConfigurationVersionView>()(({ fixed, readOnly, toOne }) => ({
  type: "configuration-versions",
  doc: "One state of a workspace's configuration: a gzip tar archive of a directory, stored as it was sent, and encrypted.",
  id: (version) => version.id,
  version: (version) => version.version,
  attributes: {
    "auto-queue-runs": fixed(flag(), "Whether a run is queued as soon as the archive is there.", { default: true }),
    speculative: fixed(flag(), "Whether it is for plans alone.", { default: false }),
    provisional: fixed(
      flag(),
      "Whether it becomes the workspace's current one only when a run with it is applied, unless a newer one is by then.",
      { default: false },
    ),
    source: readOnly(
      text(),
      `Where it comes from: \`tfe-api\`, \`tfe-ui\`, \`terraform\`, ${vcsSources.map((each) => `\`${each}\``).join(", ")}.`,
    ),
    status: readOnly(text(), `One of ${statuses.join(", ")}. Only one that is uploaded can start runs.`),
    "status-timestamps": readOnly(
      z.record(z.string(), z.string()),
      "When it was `queued-at`, `fetching-at`, `started-at`, `finished-at`, `archived-at`; what has not happened is not there.",
      { from: ({ statusTimestamps }) => new JsonText(statusTimestamps), audited: false },
    ),
    error: readOnly(text().nullable(), "Why it is errored, as a word for machines."),
    "error-message": readOnly(text().nullable(), "The same as a sentence."),
    "upload-url": readOnly(
      text().nullable(),
      "Where the archive is to be sent with PUT, without a token, within an hour; only shown when the version is made.",
      { audited: false },
    ),
  },
  relationships: {
    "ingress-attributes": toOne("ingress-attributes", "The commit that it comes from; null when it was sent by hand.", {
      nullable: true,
      id: ({ ingressId }) => ingressId,
      related: ({ id }) => `/api/v2/configuration-versions/${id}/ingress-attributes`,
    }),
    run: toOne("runs", "The latest run with it; named where `include` asks for it.", {
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
      summary: "List a workspace's configuration versions, the newest first",
      needs: readers,
      query: { paged: true, include },
      answer: "list",
    },
    createConfigurationVersion: {
      method: "POST",
      path: byWorkspace,
      summary: "Announce a configuration, which is then sent to the upload URL",
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
      summary: "Fetch the archive of a run's configuration, as it was sent",
    },
    uploadConfiguration: {
      method: "PUT",
      path: `${byId}/upload`,
      summary: "Send the archive: a gzip tar of a directory",
      needs: "a signed URL that has not expired, as the configuration version's creation gave it; no token",
      signed: true,
      body: { stream: true },
      query: {
        parameters: {
          expires: textParameter("Until when the URL is good."),
          signature: textParameter("Our proof that we made it."),
        },
      },
      answer: "done",
    },
    archiveConfigurationVersion: {
      method: "POST",
      path: `${byId}/actions/archive`,
      summary: "Remove the archive of a configuration that is not needed any more",
      needs: "'plan' on the workspace's runs; not with an organization's token",
      answer: "accepted",
    },
    softDeleteConfigurationBackingData: backingData.softDelete,
    restoreConfigurationBackingData: backingData.restore,
    permanentlyDeleteConfigurationBackingData: backingData.permanentlyDelete,
  },
}));
