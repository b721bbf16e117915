/** Pure rules of engine versions. */
import { type Actor, isSiteAdmin } from "../../../access/actor.ts";
import { grant, type Granted } from "../../../access/granted.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { stored } from "../../shared/changes.ts";
import type { terraformVersions } from "./definition.ts";
import { compareVersions, isRelease } from "./versions.ts";

export function newVersion(
  attributes: CreateAttributes<typeof terraformVersions>,
  identity: { id: string; createdAt: string },
): EngineVersionTable {
  return {
    ...identity,
    engineVersion: attributes.version,
    url: attributes.url ?? null,
    sha: attributes.sha ?? null,
    official: stored(attributes.official ?? false),
    enabled: stored(attributes.enabled ?? true),
    beta: stored(attributes.beta ?? false),
    version: 1,
  };
}

/** Attributes as the table stores them; absent stays absent. What is called `version` on the wire is not the row's version. */
export function toColumns(attributes: UpdateAttributes<typeof terraformVersions>): {
  readonly [Name in keyof EngineVersionTable]?: EngineVersionTable[Name] | undefined;
} {
  const { version, official, enabled, beta, ...plain } = attributes;
  return {
    ...plain,
    engineVersion: version,
    official: stored(official),
    enabled: stored(enabled),
    beta: stored(beta),
  };
}

export function versionTaken(): Fault {
  return attributeFault("version", "Version has already been taken");
}

/** The newest release of those that ship and those that were added; an added one that may not be it hides one that ships. */
export function newestOf(
  known: readonly string[],
  added: readonly Pick<EngineVersionTable, "engineVersion" | "enabled" | "beta">[],
): string {
  const mayBe = (row: (typeof added)[number]) => row.enabled === 1 && row.beta === 0 && isRelease(row.engineVersion);
  const hidden = new Set(added.filter((row) => !mayBe(row)).map((row) => row.engineVersion));
  const releases = [
    ...known.filter((version) => !hidden.has(version)),
    ...added.filter(mayBe).map((row) => row.engineVersion),
  ];
  // Where everything is hidden, a workspace still needs a version.
  const candidates = releases.length > 0 ? releases : known;
  return candidates.reduce((newest, version) => (compareVersions(version, newest) > 0 ? version : newest));
}

/** To everybody but site admins, the administration is not there. Raises `not-found`. */
export function grantAdministration<Permission extends "can-update" | "can-destroy">(
  actor: Actor,
  row: EngineVersionTable,
  permission: Permission,
): Granted<EngineVersionTable, Permission> {
  const allowed = isSiteAdmin(actor);
  return grant(row, { thing: "page", permission, visible: allowed, allowed, needs: "a site admin" });
}
