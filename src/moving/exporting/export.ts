/** Writes an organization as files: JSON for each object, and HCL for the official provider. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { conflict } from "../../kernel/errors.ts";
import { quoted } from "../../kernel/text.ts";
import { type OrganizationReader, textOf, type WireResource } from "../wire.ts";
import { collect, type CollectedOrganization } from "./collect.ts";
import { writeResources, type HclExport } from "./resources.ts";

export interface ExportRequest {
  readonly origin: OrganizationReader;
  readonly organization: string;
  readonly folder: string;
  /** The hostname of the provider. */
  readonly hostname: string;
}

export interface ExportResult {
  readonly fileCount: number;
  readonly writeOnly: readonly string[];
  /** Only in the JSON files, because the provider has no argument for them. */
  readonly unsupported: readonly string[];
}

/** Throws MissingResource, and `conflict` if the directory isn't empty. */
export async function exportOrganization({
  origin,
  organization,
  folder,
  hostname,
}: ExportRequest): Promise<ExportResult> {
  requireEmpty(folder);
  const collected = await collect(origin, organization);
  const hcl = writeResources(collected, hostname);
  const files = [
    ...jsonFiles(collected).map(
      ([path, content]) => [join("json", path), `${JSON.stringify(content, null, 2)}\n`] as const,
    ),
    ...[...hcl.files].map(([path, text]) => [join("terraform", path), text] as const),
    ["README.md", readme(organization, hcl)] as const,
  ];
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    // Some files contain values of variables.
    writeFileSync(join(folder, path), text, { mode: 0o600 });
  }
  return { fileCount: files.length, writeOnly: hcl.writeOnly, unsupported: hcl.unsupported };
}

function requireEmpty(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw conflict(`The directory ${quoted(folder)} is not empty. Use an empty directory, or one that doesn't exist.`);
}

const documentOf = ({ id, type, attributes, relationships }: WireResource): object => {
  const { permissions: _, ...shown } = attributes;
  return { id, type, attributes: shown, relationships };
};

function jsonFiles(collected: CollectedOrganization): [path: string, content: object][] {
  const fileOf = (folder: string, resource: WireResource, content: object): [string, object] => [
    `${folder}/${fileName(textOf(resource, "name") ?? textOf(resource, "email") ?? textOf(resource, "key") ?? resource.id)}.json`,
    content,
  ];
  const filesOf = (folder: string, resources: readonly WireResource[]) =>
    resources.map((resource) => fileOf(folder, resource, documentOf(resource)));
  const all = (resources: readonly WireResource[]) => resources.map(documentOf);
  return [
    [
      "organization.json",
      { ...documentOf(collected.organization), "data-retention-policy": collected.retention ?? null },
    ],
    ...filesOf("teams", collected.teams),
    ...filesOf("members", collected.memberships),
    ...filesOf("ssh-keys", collected.sshKeys),
    ...filesOf("agent-pools", collected.agentPools),
    ...filesOf("reserved-tag-keys", collected.reservedTagKeys),
    ...filesOf("access-rules", collected.accessRules),
    ...filesOf("access-offers", collected.accessOffers),
    ...collected.projects.map(({ project, access, bindings }) =>
      fileOf("projects", project, { ...documentOf(project), access: all(access), "tag-bindings": all(bindings) }),
    ),
    ...collected.varsets.map(({ varset, variables }) =>
      fileOf("variable-sets", varset, { ...documentOf(varset), variables: all(variables) }),
    ),
    ...collected.workspaces.map(({ workspace, variables, access, bindings, consumers, triggers, retention }) =>
      fileOf("workspaces", workspace, {
        ...documentOf(workspace),
        variables: all(variables),
        access: all(access),
        "tag-bindings": all(bindings),
        "remote-state-consumers": consumers.map((consumer) => textOf(consumer, "name") ?? consumer.id),
        "run-triggers": triggers.map((trigger) => textOf(trigger, "sourceable-name") ?? trigger.id),
        "data-retention-policy": retention ?? null,
      }),
    ),
  ];
}

/** Names are unique regardless of case, except those of workspaces. */
const fileName = (name: string): string => name.replaceAll(/[^A-Za-z0-9._@-]+/g, "_").replace(/^\./, "_");

function readme(organization: string, hcl: HclExport): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? "" : `\n${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}\n`;
  return `# ${organization}

Written by \`cadastre export\`. \`json/\` contains one file per object, as the API returns it. \`terraform/\` contains the same objects as
resources of the official provider, each with an import block: \`terraform init && terraform plan\` there imports everything and changes nothing.

These files contain the values of variables that are not sensitive. They don't contain states and runs; use \`cadastre backup\` for those.
${list("Write-only values, which are in no file and which the plan leaves alone:", hcl.writeOnly)}${list("Only in `json/`, because the provider doesn't support it:", hcl.unsupported)}`;
}
