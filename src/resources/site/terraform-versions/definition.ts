/** The Terraform version resource: an engine version that ships with the service or that a site admin added. */
import { z } from "zod";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag, nullIfBlank, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { isExactVersion } from "./versions.ts";

const version = text({ min: 1, max: 255 }).refine((value) => value === "" || isExactVersion(value), {
  error: "must be an exact version such as 1.9.5",
});
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s/@]+(\/\S*)?$/,
  sentence: "must be a URL that starts with http:// or https://, without a username",
});
const shaSentence = "must be a SHA-256 hash with 64 hex digits";
const sha = text({ min: 1, max: 64, pattern: /^[0-9A-Fa-f]{64}$/, sentence: shaSentence });
/** Stored as sent, because clients compare the lists. */
const shaOrBlank = text({ max: 64, pattern: /^([0-9A-Fa-f]{64})?$/, sentence: shaSentence });
const word = text({ min: 1, max: 64, pattern: /^[A-Za-z0-9_-]+$/, sentence: "must be a word such as linux or amd64" });

const archsMax = 32;

const archs = z
  .array(z.object({ url, sha: shaOrBlank, os: word.optional(), arch: word.optional() }))
  .max(archsMax, { error: `must be at most ${archsMax}` });

const versionPath = "/admin/terraform-versions/:terraform_version_id";

export const terraformVersions = defineResource<EngineVersionTable>()(({ required, optional, readOnly }) => ({
  type: "terraform-versions",
  doc: "A Terraform or OpenTofu version that workspaces can use. Many ship with the service, and site admins can add others. Disabled and beta versions are never used as the newest release.",
  id: (row) => row.id,
  version: (row) => row.version,
  attributes: {
    version: required(version, "The exact version number, unique across the site.", {
      from: (row) => row.engineVersion,
      column: false,
    }),
    url: optional(url.nullable(), "The download URL for linux/amd64. The service itself doesn't download it.", {
      default: null,
    }),
    sha: optional(nullIfBlank(sha), "The SHA-256 hash of the download.", { default: null }),
    archs: optional(
      archs,
      "The downloads by platform; the default platform is `linux` and `amd64`. `url` and `sha` are those for linux/amd64, and changing them replaces the list.",
      { default: [] },
    ),
    official: optional(flag(), "Whether it is an official release.", { default: false }),
    enabled: optional(flag(), "Whether it can be the default version of new workspaces.", { default: true }),
    beta: optional(flag(), "Whether it is a pre-release.", { default: false }),
    deprecated: optional(flag(), "Whether it is deprecated. Deprecated versions still work.", { default: false }),
    "deprecated-reason": optional(nullIfBlank(text({ max: 1024 })), "Why it is deprecated; null if it isn't.", {
      default: null,
    }),
    usage: readOnly(wholeNumber(), "Always 0: usage is not counted.", { from: () => 0, audited: false }),
    "created-at": readOnly(timestamp(), "When the version was added."),
  },
  relationships: {},
  links: (row) => ({ self: `/api/v2/admin/terraform-versions/${row.id}` }),
  operations: {
    listTerraformVersions: {
      method: "GET",
      path: "/admin/terraform-versions",
      summary: "List Terraform versions, newest additions first",
      needs: "a site admin",
      query: {
        paged: true,
        parameters: {
          "filter[version]": textParameter("Only this exact version. It takes precedence over `search[version]`."),
          "search[version]": textParameter("Only versions that contain this text."),
        },
      },
      answer: "list",
    },
    createTerraformVersion: {
      method: "POST",
      path: "/admin/terraform-versions",
      summary: "Add a Terraform version",
      needs: "a site admin",
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "terraform-versions",
          attributes: {
            version: "1.99.0",
            url: "https://releases.example.com/1.99.0_linux_amd64.zip",
            sha: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
          },
        },
      },
    },
    showTerraformVersion: {
      method: "GET",
      path: versionPath,
      summary: "Show a Terraform version",
      needs: "a site admin",
      answer: "document",
    },
    updateTerraformVersion: {
      method: "PATCH",
      path: versionPath,
      summary: "Update a Terraform version",
      needs: "a site admin",
      body: "update",
      answer: "document",
      example: { data: { type: "terraform-versions", attributes: { enabled: false } } },
    },
    deleteTerraformVersion: {
      method: "DELETE",
      path: versionPath,
      summary: "Delete a Terraform version; workspaces that use it keep it",
      needs: "a site admin",
      answer: "nothing",
    },
  },
}));
