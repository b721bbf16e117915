/** A workspace's VCS repository: validation and the resulting columns. */
import type { z } from "zod";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import type { workspaces } from "./definition.ts";

export type VcsInput = z.output<(typeof workspaces.attributes)["vcs-repo"]["schema"]>;

export type VcsColumns = Pick<
  WorkspaceTable,
  | "vcsIdentifier"
  | "vcsBranch"
  | "vcsIngressSubmodules"
  | "vcsTagsRegex"
  | "vcsOauthTokenId"
  | "vcsGithubAppInstallationId"
>;

export const noRepository: VcsColumns = {
  vcsIdentifier: null,
  vcsBranch: null,
  vcsIngressSubmodules: 0,
  vcsTagsRegex: null,
  vcsOauthTokenId: null,
  vcsGithubAppInstallationId: null,
};

/** Null removes the repository; absent keys keep their value. */
export function vcsAfter(before: VcsColumns, sent: VcsInput | undefined): VcsColumns {
  if (sent === null) return noRepository;
  const input = sent ?? {};
  const kept = <Key extends keyof VcsColumns>(value: VcsColumns[Key] | undefined, key: Key) =>
    value === undefined ? before[key] : value;
  const token = input["oauth-token-id"];
  const installation = input["github-app-installation-id"];
  return {
    vcsIdentifier: kept(input.identifier, "vcsIdentifier"),
    // An empty branch means the repository's default branch.
    vcsBranch: kept(input.branch === "" ? null : input.branch, "vcsBranch"),
    vcsIngressSubmodules: kept(
      input["ingress-submodules"] === undefined ? undefined : Number(input["ingress-submodules"]),
      "vcsIngressSubmodules",
    ),
    vcsTagsRegex: kept(input["tags-regex"] === "" ? null : input["tags-regex"], "vcsTagsRegex"),
    // Setting one kind of connection removes the other.
    vcsOauthTokenId: installation ? null : kept(token, "vcsOauthTokenId"),
    vcsGithubAppInstallationId: token ? null : kept(installation, "vcsGithubAppInstallationId"),
  };
}

export function vcsFaults(input: VcsInput | undefined, after: VcsColumns): Fault[] {
  if (input === undefined || input === null) return [];
  const faults: Fault[] = [];
  if (after.vcsIdentifier === null)
    faults.push(attributeFault("vcs-repo.identifier", "Vcs repo identifier can't be blank"));
  if (after.vcsOauthTokenId === null && after.vcsGithubAppInstallationId === null)
    faults.push(attributeFault("vcs-repo.oauth-token-id", "Vcs repo oauth token can't be blank"));
  return faults;
}
