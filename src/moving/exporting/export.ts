/** An organization as files that people read: JSON for each thing, and HCL for the official provider. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { conflict } from "../../kernel/errors.ts";
import { quoted } from "../../kernel/text.ts";
import { type Origin, textOf, type Thing } from "../wire.ts";
import { collect, type Collected } from "./collect.ts";
import { writeResources, type Written } from "./resources.ts";

export interface ExportRequest {
  readonly origin: Origin;
  readonly organization: string;
  readonly folder: string;
  /** Where the provider finds the server. */
  readonly hostname: string;
}

export interface Exported {
  readonly fileCount: number;
  readonly writeOnly: readonly string[];
  readonly beyond: readonly string[];
}

/** Raises Missing where there is no such organization, and `conflict` for a folder that holds something. */
export async function exportOrganization({ origin, organization, folder, hostname }: ExportRequest): Promise<Exported> {
  refuseFull(folder);
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
    // Values of variables are in some of them.
    writeFileSync(join(folder, path), text, { mode: 0o600 });
  }
  return { fileCount: files.length, writeOnly: written.writeOnly, beyond: written.beyond };
}

function refuseFull(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw conflict(`The folder ${quoted(folder)} is not empty. Name one that is, or that is not there yet.`);
}

/** What a document tells of its reader is left out, and so are links. */
const shown = ({ id, type, attributes, relationships }: Thing): object => {
  const { permissions: _, ...facts } = attributes;
  return { id, type, attributes: facts, relationships };
};

function jsonFiles(collected: Collected): [path: string, content: object][] {
  const named = (folder: string, thing: Thing, content: object): [string, object] => [
    `${folder}/${fileName(textOf(thing, "name") ?? textOf(thing, "email") ?? textOf(thing, "key") ?? thing.id)}.json`,
    content,
  ];
  const each = (folder: string, things: readonly Thing[]) => things.map((thing) => named(folder, thing, shown(thing)));
  const all = (things: readonly Thing[]) => things.map(shown);
  return [
    ["organization.json", { ...shown(collected.organization), "data-retention-policy": collected.retention ?? null }],
    ...each("teams", collected.teams),
    ...each("members", collected.memberships),
    ...each("ssh-keys", collected.sshKeys),
    ...each("agent-pools", collected.agentPools),
    ...each("reserved-tag-keys", collected.reservedTagKeys),
    ...collected.projects.map(({ project, access, bindings }) =>
      named("projects", project, { ...shown(project), access: all(access), "tag-bindings": all(bindings) }),
    ),
    ...collected.varsets.map(({ varset, variables }) =>
      named("variable-sets", varset, { ...shown(varset), variables: all(variables) }),
    ),
    ...collected.workspaces.map(({ workspace, variables, access, bindings, consumers, triggers, retention }) =>
      named("workspaces", workspace, {
        ...shown(workspace),
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

/** What no file system minds. Names are unique by themselves, ignoring case, but for those of workspaces. */
const fileName = (name: string): string => name.replaceAll(/[^A-Za-z0-9._@-]+/g, "_").replace(/^\./, "_");

function readme(organization: string, { writeOnly, beyond }: Written): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? "" : `\n${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}\n`;
  return `# ${organization}

Written by \`cadastre export\`. \`json/\` holds a file for each thing, as the API shows it. \`terraform/\` holds the same as resources of the
official provider, each with a block that imports it: \`terraform init && terraform plan\` there imports everything and changes nothing.

Values of variables that are not sensitive are in these files. States and runs are not: \`cadastre backup\` has them.
${list("Write-only values, which are in no file, and which no plan touches:", writeOnly)}${list("What the provider has no word for, which is in `json/` alone:", beyond)}`;
}
