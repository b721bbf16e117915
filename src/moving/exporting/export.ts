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
  readonly beyond: readonly string[];
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
  const written = writeResources(collected, hostname);
  const files = [
    ...jsonFiles(collected).map(
      ([path, content]) => [join("json", path), `${JSON.stringify(content, null, 2)}\n`] as const,
    ),
    ...[...written.files].map(([path, text]) => [join("terraform", path), text] as const),
    ["README.md", readme(organization, written)] as const,
  ];
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    // Some files contain values of variables.
    writeFileSync(join(folder, path), text, { mode: 0o600 });
  }
  return { fileCount: files.length, writeOnly: written.writeOnly, beyond: written.beyond };
}

function requireEmpty(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw conflict(`The directory ${quoted(folder)} is not empty. Use an empty directory, or one that doesn't exist.`);
}

const documentOf = ({ id, type, attributes, relationships }: WireResource): object => {
  const { permissions: _, ...facts } = attributes;
  return { id, type, attributes: facts, relationships };
};

function jsonFiles(collected: CollectedOrganization): [path: string, content: object][] {
  const named = (folder: string, thing: WireResource, content: object): [string, object] => [
    `${folder}/${fileName(textOf(thing, "name") ?? textOf(thing, "email") ?? textOf(thing, "key") ?? thing.id)}.json`,
    content,
  ];
  const each = (folder: string, things: readonly WireResource[]) =>
    things.map((thing) => named(folder, thing, documentOf(thing)));
  const all = (things: readonly WireResource[]) => things.map(documentOf);
  return [
    [
      "organization.json",
      { ...documentOf(collected.organization), "data-retention-policy": collected.retention ?? null },
    ],
    ...each("teams", collected.teams),
    ...each("members", collected.memberships),
    ...each("ssh-keys", collected.sshKeys),
    ...each("agent-pools", collected.agentPools),
    ...each("reserved-tag-keys", collected.reservedTagKeys),
    ...collected.projects.map(({ project, access, bindings }) =>
      named("projects", project, { ...documentOf(project), access: all(access), "tag-bindings": all(bindings) }),
    ),
    ...collected.varsets.map(({ varset, variables }) =>
      named("variable-sets", varset, { ...documentOf(varset), variables: all(variables) }),
    ),
    ...collected.workspaces.map(({ workspace, variables, access, bindings, consumers, triggers, retention }) =>
      named("workspaces", workspace, {
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

function readme(organization: string, { writeOnly, beyond }: HclExport): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? "" : `\n${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}\n`;
  return `# ${organization}

Written by \`cadastre export\`. \`json/\` contains one file per object, as the API returns it. \`terraform/\` contains the same objects as
resources of the official provider, each with an import block: \`terraform init && terraform plan\` there imports everything and changes nothing.

These files contain the values of variables that are not sensitive. They don't contain states and runs; use \`cadastre backup\` for those.
${list("Write-only values, which are in no file and which the plan leaves alone:", writeOnly)}${list("Only in `json/`, because the provider doesn't support it:", beyond)}`;
}
