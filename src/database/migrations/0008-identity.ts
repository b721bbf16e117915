/** Further attributes of organizations, tokens and teams; and the supported engine versions as rows. */
import { createHash } from "node:crypto";
import type { Migration } from "./migration.ts";

/** Minor version → last patch. Add later releases in later migrations. */
const minors = {
  "0.12": 31,
  "0.13": 7,
  "0.14": 11,
  "0.15": 5,
  "1.0": 11,
  "1.1": 9,
  "1.2": 9,
  "1.3": 10,
  "1.4": 7,
  "1.5": 7,
  "1.6": 6,
  "1.7": 5,
  "1.8": 5,
  "1.9": 8,
  "1.10": 5,
  "1.11": 4,
  "1.12": 2,
  "1.13": 5,
  "1.14": 9,
};

export const shippedReleases: readonly string[] = Object.entries(minors).flatMap(([minor, last]) =>
  Array.from({ length: last + 1 }, (_, patch) => `${minor}.${patch}`),
);

/** Deterministic, so that a restored register has the same ids. */
const idOf = (release: string) => `tool-${createHash("sha256").update(release).digest("hex").slice(0, 16)}`;

const addedAt = (position: number) => new Date(Date.UTC(2026, 10, 16) + position).toISOString();

/** The archive was not checked, so no checksum is known. */
export const downloadOf = (release: string): string =>
  `https://releases.hashicorp.com/terraform/${release}/terraform_${release}_linux_amd64.zip`;

const archsOf = (release: string) =>
  JSON.stringify([{ url: downloadOf(release), sha: "", os: "linux", arch: "amd64" }]);

const seeds = shippedReleases.map(
  (release, position) =>
    `('${idOf(release)}', '${release}', '${downloadOf(release)}', '${archsOf(release)}', 1, 1, 0, '${addedAt(position)}', 1)`,
);

const tokenTypes = { organization: "o", team: "t", user: "u", audit_trails: "a" };
const twoYearsMs = 63_113_904_000;

const policies = Object.entries(tokenTypes).map(
  ([type, letter]) =>
    `INSERT INTO organization_token_ttl_policies (id, organization_id, token_type, max_ttl_ms, created_at, updated_at, version)
      SELECT 'ttl-' || substr(id, 5, 15) || '${letter}', id, '${type}', ${twoYearsMs}, created_at, created_at, 1 FROM organizations`,
);

export const moreIdentity: Migration = {
  name: "0008-identity",
  statements: [
    `ALTER TABLE organizations ADD COLUMN max_ttl_enabled INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN stacks_enabled INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN is_disabled INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN access_beta_tools INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN global_module_sharing INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN global_provider_sharing INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN terraform_worker_sudo_enabled INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN apply_timeout TEXT`,
    `ALTER TABLE organizations ADD COLUMN plan_timeout TEXT`,
    `ALTER TABLE organizations ADD COLUMN workspace_limit INTEGER`,

    `CREATE TABLE module_consumers (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      consumer_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      PRIMARY KEY (organization_id, consumer_id)
    )`,
    `CREATE INDEX module_consumers_of ON module_consumers (consumer_id)`,

    `CREATE TABLE organization_token_ttl_policies (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      token_type TEXT NOT NULL,
      max_ttl_ms INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX organization_token_ttl_policies_type ON organization_token_ttl_policies (organization_id, token_type)`,
    ...policies,

    `ALTER TABLE teams ADD COLUMN description TEXT`,

    `ALTER TABLE engine_versions ADD COLUMN deprecated INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE engine_versions ADD COLUMN deprecated_reason TEXT`,
    `ALTER TABLE engine_versions ADD COLUMN archs TEXT NOT NULL DEFAULT '[]'`,
    `INSERT INTO engine_versions (id, engine_version, url, archs, official, enabled, beta, created_at, version)
      VALUES ${seeds.join(", ")} ON CONFLICT DO NOTHING`,
  ],
};
