/** Projects with their key-value tags, and the access of teams to them. The default project is the default project. */
import { projects as projectDefinition } from "../../resources/register/projects/definition.ts";
import { teamProjects } from "../../resources/sharing/team-access/team-projects/definition.ts";
import { teamWorkspaces } from "../../resources/sharing/team-access/team-workspaces/definition.ts";
import { eachAtOnce } from "../at-once.ts";
import { bodyOf, objectOf, relatedId, textOf, type Thing } from "../wire.ts";
import { type Hand, isUnmade, sendable } from "./hand.ts";

const kind = "projects";

export async function bringProjects(hand: Hand, organization: Thing): Promise<void> {
  const projects = (await hand.listThere(kind, "all", hand.there("/projects"))) ?? [];
  const shelf = await hand.shelf(hand.here("/projects"));
  const ourDefault = await defaultHere(hand);
  const theirDefault = relatedId(organization, "default-project") ?? projects.find(isDefault)?.id;
  await eachAtOnce(projects, hand.request.concurrency, async (project) => {
    const label = textOf(project, "name") ?? project.id;
    const ours =
      project.id === theirDefault && ourDefault !== undefined
        ? await bringDefault(hand, project, ourDefault)
        : await hand.bring({
            kind,
            sourceId: project.id,
            label,
            shelf,
            make: async () =>
              hand.make({ kind, label }, "POST", hand.here("/projects"), await settingsOf(hand, project)),
          });
    if (ours !== undefined) await bringProjectAccess(hand, project, label, ours);
  });
}

const isDefault = (project: Thing) => textOf(project, "name") === "Default Project";

async function defaultHere(hand: Hand): Promise<string | undefined> {
  const organization = await hand.door.find(hand.here(""));
  return organization && relatedId(organization, "default-project");
}

/** It is here from the first; it takes over what the source's is, once. */
async function bringDefault(hand: Hand, project: Thing, ours: string): Promise<string> {
  const label = textOf(project, "name") ?? project.id;
  const isNew = await hand.once("default-projects", project.id, label, async () => {
    await hand.make({ kind, label }, "PATCH", `/projects/${ours}`, await settingsOf(hand, project));
  });
  await hand.link([{ kind, sourceId: project.id, ourId: ours }]);
  hand.report.count(kind, isNew ? "brought" : "here");
  return ours;
}

async function settingsOf(hand: Hand, project: Thing) {
  const defaults = ["default-execution-mode", "default-agent-pool-id", "setting-overwrites"];
  const attributes = sendable(project, projectDefinition, defaults);
  if (objectOf(project, "setting-overwrites")["default-execution-mode"] === true) {
    const mode = textOf(project, "default-execution-mode");
    const pool = hand.ours("agent-pools", relatedId(project, "default-agent-pool"));
    if (mode !== "agent") attributes["default-execution-mode"] = mode;
    else if (pool !== undefined) {
      attributes["default-execution-mode"] = mode;
      attributes["default-agent-pool-id"] = pool;
    } else
      hand.report.gap(
        kind,
        `${textOf(project, "name")}, default-agent-pool`,
        "the agent pool is not here; the organization's default is followed",
      );
  }
  return { type: kind, attributes, relationships: await bindingsOf(hand, `/projects/${project.id}`) };
}

/** The key-value tags of a workspace or a project, as they are sent with a new one. */
export async function bindingsOf(hand: Hand, path: string): Promise<Record<string, object>> {
  const bindings = await hand.listIfThere(`${path}/tag-bindings`);
  if (bindings.length === 0) return {};
  const data = bindings.map((binding) => ({
    type: "tag-bindings",
    attributes: { key: textOf(binding, "key") ?? "", value: textOf(binding, "value") ?? "" },
  }));
  return { "tag-bindings": { data } };
}

async function bringProjectAccess(hand: Hand, project: Thing, label: string, ours: string): Promise<void> {
  const path = "/team-projects?filter[project][id]=";
  const found = (await hand.listThere("team-projects", label, path + project.id)) ?? [];
  if (found.length === 0) return;
  const shelf = await hand.shelfOf(ours, path + ours, (record) => relatedId(record, "team"));
  for (const record of found) await bringRecord(hand, "team-projects", record, { label, ours, shelf });
}

export interface AccessPlace {
  readonly label: string;
  readonly ours: string;
  readonly shelf: Awaited<ReturnType<Hand["shelf"]>>;
}

const records = {
  "team-projects": { place: "project", type: "projects", definition: teamProjects },
  "team-workspaces": { place: "workspace", type: "workspaces", definition: teamWorkspaces },
} as const;

/** A record of access. Its permissions are sent where they were chosen one by one; otherwise the level says them. */
export async function bringRecord(
  hand: Hand,
  kindOfRecord: keyof typeof records,
  record: Thing,
  { label, ours, shelf }: AccessPlace,
): Promise<void> {
  const { place, type, definition } = records[kindOfRecord];
  const theirTeam = relatedId(record, "team");
  const team = hand.ours("teams", theirTeam);
  const told = { kind: kindOfRecord, label: `${label}, ${theirTeam ?? "a team"}` };
  if (team === undefined) {
    hand.report.left(kindOfRecord, told.label, "the team is not here");
    return;
  }
  const access = textOf(record, "access") ?? "";
  const chosen = sendable(record, definition);
  const { "expires-at": end, reason } = chosen;
  // One that has ended gives nothing any more.
  if (typeof end === "string" && Date.parse(end) <= Date.now()) return;
  const lasting = { ...(end !== undefined && { "expires-at": end }), ...(reason !== undefined && { reason }) };
  const attributes = access === "custom" ? chosen : { access, ...lasting };
  const data = { team: { data: { type: "teams", id: team } }, [place]: { data: { type, id: ours } } };
  await hand.bring({
    kind: kindOfRecord,
    sourceId: record.id,
    label: told.label,
    key: team,
    shelf,
    make: async () => {
      if (isUnmade(ours)) return "";
      const made = await hand.door.send("POST", `/${kindOfRecord}`, bodyOf(kindOfRecord, attributes, data));
      return made?.id ?? "";
    },
  });
}
