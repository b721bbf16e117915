/** Imports workspaces with their settings, variables, access, history and states. */
import { workspaces as workspaceDefinition } from "../../resources/register/workspaces/definition.ts";
import { forEachConcurrently } from "../concurrency.ts";
import { bodyOf, flagOf, isObject, objectOf, relatedId, textOf, type WireResource } from "../wire.ts";
import type { VcsTokenMap } from "./connections.ts";
import { type Importer, type ResourceBody, writableAttributes, type ExistingResources } from "./importer.ts";
import { importRetention } from "./organization.ts";
import type { MemberDirectory } from "./people.ts";
import { bindingsOf, importRecord } from "./projects.ts";
import { importRunHistory } from "./runs.ts";
import { importStates } from "./states.ts";
import { importVariables } from "./variables.ts";

const kind = "workspaces";

export interface WorkspaceImportContext {
  readonly people: MemberDirectory;
  readonly vcsTokens: VcsTokenMap;
}

export interface ImportedWorkspace {
  readonly sourceId: string;
  readonly label: string;
  readonly localId: string;
  readonly sharesOneByOne: boolean;
}

export async function importWorkspaces(
  importer: Importer,
  context: WorkspaceImportContext,
): Promise<readonly ImportedWorkspace[]> {
  const existing = await importer.listExisting(importer.localPath("/workspaces"), (workspace) =>
    textOf(workspace, "name"),
  );
  const imported: ImportedWorkspace[] = [];
  await forEachConcurrently(listSourceWorkspaces(importer), importer.request.concurrency, async (workspace) => {
    const localId = await importWorkspace(importer, workspace, existing, context);
    if (localId !== undefined)
      imported.push({
        sourceId: workspace.id,
        label: nameOf(workspace),
        localId,
        sharesOneByOne: !flagOf(workspace, "global-remote-state") && !flagOf(workspace, "project-remote-state"),
      });
  });
  return imported;
}

async function* listSourceWorkspaces(importer: Importer): AsyncGenerator<WireResource> {
  for await (const page of importer.source.pages(importer.sourcePath("/workspaces"))) yield* page.resources;
}

const nameOf = (workspace: WireResource) => textOf(workspace, "name") ?? workspace.id;

async function importWorkspace(
  importer: Importer,
  workspace: WireResource,
  existing: ExistingResources,
  { people, vcsTokens }: WorkspaceImportContext,
): Promise<string | undefined> {
  const label = nameOf(workspace);
  const project = importer.localIdOf("projects", relatedId(workspace, "project"));
  if (relatedId(workspace, "project") !== undefined && project === undefined) {
    importer.report.skip(kind, label, "its project was not imported");
    return undefined;
  }
  const localId = await importer.importOne({
    kind,
    sourceId: workspace.id,
    label,
    key: label,
    existing,
    create: async () =>
      importer.create(
        { kind, label },
        "POST",
        importer.localPath("/workspaces"),
        await settingsOf(importer, workspace, project),
      ),
  });
  if (localId === undefined) return undefined;
  const owner = { sourcePath: `/workspaces/${workspace.id}`, localPath: `/workspaces/${localId}`, localId, label };
  await importVariables(importer, owner);
  await connect(importer, workspace, localId, vcsTokens);
  await importAccess(importer, workspace, localId);
  await importRetention(importer, workspace.id, owner.sourcePath, owner.localPath, label);
  await reportUnsupported(importer, workspace);
  await importRunHistory(importer, { workspace, localId, label, people });
  await importStates(importer, { workspace, localId, label, people });
  return localId;
}

/** They depend on other settings or resources. */
const separateAttributes = [
  "operations",
  "execution-mode",
  "agent-pool-id",
  "setting-overwrites",
  "vcs-repo",
  "assessments-enabled",
  "auto-destroy-at",
  "auto-destroy-activity-duration",
  "inherits-project-auto-destroy",
];

async function settingsOf(
  importer: Importer,
  workspace: WireResource,
  project: string | undefined,
): Promise<ResourceBody> {
  const tags = workspace.attributes["tag-names"];
  const names = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  return {
    type: kind,
    attributes: {
      ...writableAttributes(workspace, workspaceDefinition, separateAttributes),
      ...executionOf(importer, workspace),
      ...autoDestroyOf(workspace),
    },
    relationships: {
      ...(project !== undefined && { project: { data: { type: "projects", id: project } } }),
      ...(names.length > 0 && { tags: { data: names.map((name) => ({ type: "tags", attributes: { name } })) } }),
      ...(await bindingsOf(importer, `/workspaces/${workspace.id}`)),
    },
  };
}

/** Without its agent pool a workspace becomes `local`, so that no other agents execute its runs. */
function executionOf(importer: Importer, workspace: WireResource): Record<string, unknown> {
  const mode = textOf(workspace, "execution-mode");
  if (objectOf(workspace, "setting-overwrites")["execution-mode"] === false || mode === undefined) return {};
  if (mode !== "agent") return { "execution-mode": mode };
  const pool = importer.localIdOf("agent-pools", relatedId(workspace, "agent-pool"));
  if (pool !== undefined) return { "execution-mode": mode, "agent-pool-id": pool };
  importer.report.gap(
    kind,
    `${nameOf(workspace)}, execution-mode`,
    "its agent pool was not imported; 'local' is used instead",
  );
  return { "execution-mode": "local" };
}

function autoDestroyOf(workspace: WireResource): Record<string, unknown> {
  if (workspace.attributes["inherits-project-auto-destroy"] !== false) return {};
  const duration = textOf(workspace, "auto-destroy-activity-duration");
  if (duration !== undefined) return { "auto-destroy-activity-duration": duration };
  const at = textOf(workspace, "auto-destroy-at");
  return at !== undefined && Date.parse(at) > Date.now() ? { "auto-destroy-at": at } : {};
}

async function connect(
  importer: Importer,
  workspace: WireResource,
  localId: string,
  vcsTokens: VcsTokenMap,
): Promise<void> {
  const label = nameOf(workspace);
  const theirKey = relatedId(workspace, "ssh-key");
  const key = importer.localIdOf("ssh-keys", theirKey);
  if (theirKey !== undefined && key === undefined)
    importer.report.gap(kind, `${label}, ssh-key`, "the key was not imported");
  if (key !== undefined)
    await importer.runOnce("workspace-ssh-keys", workspace.id, label, async () => {
      await importer.api.send("PATCH", `/workspaces/${localId}/relationships/ssh-key`, bodyOf(kind, { id: key }));
    });
  const repository = workspace.attributes["vcs-repo"];
  if (!isObject(repository) || importer.localIdOf("workspace-repositories", workspace.id) !== undefined) return;
  const token = vcsTokens.get(String(repository["oauth-token-id"]));
  if (token === undefined) {
    importer.report.gap(
      kind,
      `${label}, vcs-repo`,
      `${String(repository["identifier"])} is not connected, because there is no matching VCS connection on this server`,
    );
    return;
  }
  const names = ["identifier", "branch", "ingress-submodules", "tags-regex"];
  const sent = Object.fromEntries(names.map((name) => [name, repository[name]]).filter(([, value]) => value != null));
  await importer.runOnce("workspace-repositories", workspace.id, label, async () => {
    const attributes = { "vcs-repo": { ...sent, "oauth-token-id": token } };
    await importer.api.send("PATCH", `/workspaces/${localId}`, bodyOf(kind, attributes));
  });
}

async function importAccess(importer: Importer, workspace: WireResource, localId: string): Promise<void> {
  const path = "/team-workspaces?filter[workspace][id]=";
  const label = nameOf(workspace);
  const found = (await importer.listSource("team-workspaces", label, path + workspace.id)) ?? [];
  if (found.length === 0) return;
  const existing = await importer.listExistingOf(localId, path + localId, (record) => relatedId(record, "team"));
  for (const record of found) await importRecord(importer, "team-workspaces", record, { label, localId, existing });
}

async function reportUnsupported(importer: Importer, workspace: WireResource): Promise<void> {
  const label = nameOf(workspace);
  if (flagOf(workspace, "locked"))
    importer.report.notes.push(`The workspace ${label} is locked at the source, but not here.`);
  for (const notification of await importer.listSourceIfAny(`/workspaces/${workspace.id}/notification-configurations`))
    importer.report.skip(
      "notification-configurations",
      `${label}, ${textOf(notification, "name") ?? notification.id}`,
      "its token can't be read; create it again on this server",
    );
}
