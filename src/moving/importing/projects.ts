/** Imports projects with their tag bindings and team access. */
import { projects as projectDefinition } from "../../resources/register/projects/definition.ts";
import { teamProjects } from "../../resources/sharing/team-access/team-projects/definition.ts";
import { teamWorkspaces } from "../../resources/sharing/team-access/team-workspaces/definition.ts";
import { forEachConcurrently } from "../concurrency.ts";
import { bodyOf, objectOf, relatedId, textOf, type WireResource } from "../wire.ts";
import { type Importer, isPlaceholder, writableAttributes } from "./importer.ts";

const kind = "projects";

export async function importProjects(importer: Importer, organization: WireResource): Promise<void> {
  const projects = (await importer.listSource(kind, "all", importer.sourcePath("/projects"))) ?? [];
  const existing = await importer.listExisting(importer.localPath("/projects"));
  const ourDefault = await defaultHere(importer);
  const theirDefault = relatedId(organization, "default-project") ?? projects.find(isDefault)?.id;
  await forEachConcurrently(projects, importer.request.concurrency, async (project) => {
    const label = textOf(project, "name") ?? project.id;
    const localId =
      project.id === theirDefault && ourDefault !== undefined
        ? await importDefault(importer, project, ourDefault)
        : await importer.importOne({
            kind,
            sourceId: project.id,
            label,
            existing,
            create: async () =>
              importer.create(
                { kind, label },
                "POST",
                importer.localPath("/projects"),
                await settingsOf(importer, project),
              ),
          });
    if (localId !== undefined) await importProjectAccess(importer, project, label, localId);
  });
}

const isDefault = (project: WireResource) => textOf(project, "name") === "Default Project";

async function defaultHere(importer: Importer): Promise<string | undefined> {
  const organization = await importer.api.find(importer.localPath(""));
  return organization && relatedId(organization, "default-project");
}

async function importDefault(importer: Importer, project: WireResource, localId: string): Promise<string> {
  const label = textOf(project, "name") ?? project.id;
  const isNew = await importer.runOnce("default-projects", project.id, label, async () => {
    await importer.create({ kind, label }, "PATCH", `/projects/${localId}`, await settingsOf(importer, project));
  });
  await importer.link([{ kind, sourceId: project.id, ourId: localId }]);
  importer.report.count(kind, isNew ? "imported" : "existing");
  return localId;
}

async function settingsOf(importer: Importer, project: WireResource) {
  const defaults = ["default-execution-mode", "default-agent-pool-id", "setting-overwrites"];
  const attributes = writableAttributes(project, projectDefinition, defaults);
  if (objectOf(project, "setting-overwrites")["default-execution-mode"] === true) {
    const mode = textOf(project, "default-execution-mode");
    const pool = importer.localIdOf("agent-pools", relatedId(project, "default-agent-pool"));
    if (mode !== "agent") attributes["default-execution-mode"] = mode;
    else if (pool !== undefined) {
      attributes["default-execution-mode"] = mode;
      attributes["default-agent-pool-id"] = pool;
    } else
      importer.report.gap(
        kind,
        `${textOf(project, "name")}, default-agent-pool`,
        "the agent pool was not imported; the organization's default applies",
      );
  }
  return { type: kind, attributes, relationships: await bindingsOf(importer, `/projects/${project.id}`) };
}

export async function bindingsOf(importer: Importer, path: string): Promise<Record<string, object>> {
  const bindings = await importer.listSourceIfAny(`${path}/tag-bindings`);
  if (bindings.length === 0) return {};
  const data = bindings.map((binding) => ({
    type: "tag-bindings",
    attributes: { key: textOf(binding, "key") ?? "", value: textOf(binding, "value") ?? "" },
  }));
  return { "tag-bindings": { data } };
}

async function importProjectAccess(
  importer: Importer,
  project: WireResource,
  label: string,
  localId: string,
): Promise<void> {
  const path = "/team-projects?filter[project][id]=";
  const found = (await importer.listSource("team-projects", label, path + project.id)) ?? [];
  if (found.length === 0) return;
  const existing = await importer.listExistingOf(localId, path + localId, (record) => relatedId(record, "team"));
  for (const record of found) await importRecord(importer, "team-projects", record, { label, localId, existing });
}

export interface ImportedGrantTarget {
  readonly label: string;
  readonly localId: string;
  readonly existing: Awaited<ReturnType<Importer["listExisting"]>>;
}

const records = {
  "team-projects": { target: "project", type: "projects", definition: teamProjects },
  "team-workspaces": { target: "workspace", type: "workspaces", definition: teamWorkspaces },
} as const;

export async function importRecord(
  importer: Importer,
  kindOfRecord: keyof typeof records,
  record: WireResource,
  { label, localId, existing }: ImportedGrantTarget,
): Promise<void> {
  const { target, type, definition } = records[kindOfRecord];
  const theirTeam = relatedId(record, "team");
  const team = importer.localIdOf("teams", theirTeam);
  const item = { kind: kindOfRecord, label: `${label}, ${theirTeam ?? "a team"}` };
  if (team === undefined) {
    importer.report.skip(kindOfRecord, item.label, "the team was not imported");
    return;
  }
  const access = textOf(record, "access") ?? "";
  const chosen = writableAttributes(record, definition);
  const { "expires-at": expiresAt, reason } = chosen;
  if (typeof expiresAt === "string" && Date.parse(expiresAt) <= Date.now()) return;
  const terms = {
    ...(expiresAt !== undefined && { "expires-at": expiresAt }),
    ...(reason !== undefined && { reason }),
  };
  const attributes = access === "custom" ? chosen : { access, ...terms };
  const data = { team: { data: { type: "teams", id: team } }, [target]: { data: { type, id: localId } } };
  await importer.importOne({
    kind: kindOfRecord,
    sourceId: record.id,
    label: item.label,
    key: team,
    existing,
    create: async () => {
      if (isPlaceholder(localId)) return "";
      const created = await importer.api.send("POST", `/${kindOfRecord}`, bodyOf(kindOfRecord, attributes, data));
      return created?.id ?? "";
    },
  });
}
