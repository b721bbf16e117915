/** An engine version that is known: one that ships with the service (`migrations/0008-identity.ts`), or that a site admin added. */
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
  sentence: "must be an address that begins with http:// or https://, without a user name",
});
const shaSentence = "must be 64 hex digits (SHA-256)";
const sha = text({ min: 1, max: 64, pattern: /^[0-9A-Fa-f]{64}$/, sentence: shaSentence });
/** In the list it stands as it was sent: clients compare the lists. */
const shaOrBlank = text({ max: 64, pattern: /^([0-9A-Fa-f]{64})?$/, sentence: shaSentence });
const word = text({ min: 1, max: 64, pattern: /^[A-Za-z0-9_-]+$/, sentence: "must be a word such as linux or amd64" });

const archsMax = 32;

/** What can be downloaded for which machines. */
const archs = z
  .array(z.object({ url, sha: shaOrBlank, os: word.optional(), arch: word.optional() }))
  .max(archsMax, { error: `must be at most ${archsMax}` });

const one = "/admin/terraform-versions/:terraform_version_id";

export const terraformVersions = defineResource<EngineVersionTable>()(({ required, optional, readOnly }) => ({
  type: "terraform-versions",
  doc: "An engine version that is known: many ship with the service, and site admins add others. One that is not enabled, or is a beta, is never taken as the newest release.",
  id: (row) => row.id,
  version: (row) => row.version,
  attributes: {
    version: required(version, "An exact version, unique in the register.", {
      from: (row) => row.engineVersion,
      column: false,
    }),
    url: optional(url.nullable(), "Where it can be downloaded for linux and amd64. The service never does.", {
      default: null,
    }),
    sha: optional(nullIfBlank(sha), "The SHA-256 of what is downloaded there.", { default: null }),
    archs: optional(
      archs,
      "Where it can be downloaded for each machine; `linux` and `amd64` where none is named. `url` and `sha` are those for linux and amd64, and a change of them replaces the list.",
      { default: [] },
    ),
    official: optional(flag(), "Whether its maker released it.", { default: false }),
    enabled: optional(flag(), "Whether it may be the default of new workspaces.", { default: true }),
    beta: optional(flag(), "Whether it is no release yet.", { default: false }),
    deprecated: optional(flag(), "Whether it should not be used any more; it still can be.", { default: false }),
    "deprecated-reason": optional(nullIfBlank(text({ max: 1024 })), "Why; null unless it is deprecated.", {
      default: null,
    }),
    usage: readOnly(wholeNumber(), "Always 0: it is not counted.", { from: () => 0, audited: false }),
    "created-at": readOnly(timestamp(), "When it was added."),
  },
  relationships: {},
  links: (row) => ({ self: `/api/v2/admin/terraform-versions/${row.id}` }),
  operations: {
    listTerraformVersions: {
      method: "GET",
      path: "/admin/terraform-versions",
      summary: "List the engine versions that are known, those that were added last first",
      needs: "a site admin",
      query: {
        paged: true,
        parameters: {
          "filter[version]": textParameter("The whole version. It goes before the other."),
          "search[version]": textParameter("Part of the version."),
        },
      },
      answer: "list",
    },
    createTerraformVersion: {
      method: "POST",
      path: "/admin/terraform-versions",
      summary: "Add an engine version",
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
      path: one,
      summary: "Show an engine version",
      needs: "a site admin",
      answer: "document",
    },
    updateTerraformVersion: {
      method: "PATCH",
      path: one,
      summary: "Change an engine version",
      needs: "a site admin",
      body: "update",
      answer: "document",
      example: { data: { type: "terraform-versions", attributes: { enabled: false } } },
    },
    deleteTerraformVersion: {
      method: "DELETE",
      path: one,
      summary: "Remove an engine version; workspaces that name it keep it",
      needs: "a site admin",
      answer: "nothing",
    },
  },
}));
