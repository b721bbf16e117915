/** Workspaces: each with all its settings, and with what hangs on it. Several at once. */
import { workspaces as workspaceDefinition } from "../../resources/register/workspaces/definition.ts";
import { eachAtOnce } from "../at-once.ts";
import { bodyOf, flagOf, isObject, objectOf, relatedId, textOf, type Thing } from "../wire.ts";
import type { VersionControl } from "./connections.ts";
import { type Hand, type Made, sendable, type Shelf } from "./hand.ts";
import { bringRetention } from "./organization.ts";
import type { People } from "./people.ts";
import { bindingsOf, bringRecord } from "./projects.ts";
import { bringRunHistory } from "./runs.ts";
import { bringStates } from "./states.ts";
import { bringVariables } from "./variables.ts";

const kind = "workspaces";

export interface Surroundings {
  readonly people: People;
  readonly versionControl: VersionControl;
}

/** What is left to do once all of them are here. */
export interface Followed {
  readonly sourceId: string;
  readonly label: string;
  readonly ours: string;
  readonly sharesOneByOne: boolean;
}

export async function bringWorkspaces(hand: Hand, around: Surroundings): Promise<readonly Followed[]> {
  const shelf = await hand.shelf(hand.here("/workspaces"), (workspace) => textOf(workspace, "name"));
  const followed: Followed[] = [];
  await eachAtOnce(workspacesThere(hand), hand.request.concurrency, async (workspace) => {
    const ours = await bringWorkspace(hand, workspace, shelf, around);
    if (ours !== undefined)
      followed.push({
        sourceId: workspace.id,
        label: nameOf(workspace),
        ours,
        sharesOneByOne: !flagOf(workspace, "global-remote-state") && !flagOf(workspace, "project-remote-state"),
      });
  });
  return followed;
}

async function* workspacesThere(hand: Hand): AsyncGenerator<Thing> {
  for await (const page of hand.peer.pages(hand.there("/workspaces"))) yield* page.things;
}

const nameOf = (workspace: Thing) => textOf(workspace, "name") ?? workspace.id;

async function bringWorkspace(
  hand: Hand,
  workspace: Thing,
  shelf: Shelf,
  { people, versionControl }: Surroundings,
): Promise<string | undefined> {
  const label = nameOf(workspace);
  const project = hand.ours("projects", relatedId(workspace, "project"));
  if (relatedId(workspace, "project") !== undefined && project === undefined) {
    hand.report.left(kind, label, "its project is not here");
    return undefined;
  }
  const ours = await hand.bring({
    kind,
    sourceId: workspace.id,
    label,
    key: label,
    shelf,
    make: async () =>
      hand.make({ kind, label }, "POST", hand.here("/workspaces"), await settingsOf(hand, workspace, project)),
  });
  if (ours === undefined) return undefined;
  const place = { there: `/workspaces/${workspace.id}`, here: `/workspaces/${ours}`, ours, label };
  await bringVariables(hand, place);
  await connect(hand, workspace, ours, versionControl);
  await bringAccess(hand, workspace, ours);
  await bringRetention(hand, workspace.id, place.there, place.here, label);
  await nameUnknown(hand, workspace);
  await bringRunHistory(hand, { workspace, ours, label, people });
  await bringStates(hand, { workspace, ours, label, people });
  return ours;
}

/** What depends on other settings, or on other things, is said below. */
const decided = [
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

async function settingsOf(hand: Hand, workspace: Thing, project: string | undefined): Promise<Made> {
  const tags = workspace.attributes["tag-names"];
  const names = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  return {
    type: kind,
    attributes: {
      ...sendable(workspace, workspaceDefinition, decided),
      ...executionOf(hand, workspace),
      ...autoDestroyOf(workspace),
    },
    relationships: {
      ...(project !== undefined && { project: { data: { type: "projects", id: project } } }),
      ...(names.length > 0 && { tags: { data: names.map((name) => ({ type: "tags", attributes: { name } })) } }),
      ...(await bindingsOf(hand, `/workspaces/${workspace.id}`)),
    },
  };
}

/** Its own mode; nothing where it follows a default. Without its pool it is not executed at all, rather than by somebody else. */
function executionOf(hand: Hand, workspace: Thing): Record<string, unknown> {
  const mode = textOf(workspace, "execution-mode");
  if (objectOf(workspace, "setting-overwrites")["execution-mode"] === false || mode === undefined) return {};
  if (mode !== "agent") return { "execution-mode": mode };
  const pool = hand.ours("agent-pools", relatedId(workspace, "agent-pool"));
  if (pool !== undefined) return { "execution-mode": mode, "agent-pool-id": pool };
  hand.report.gap(kind, `${nameOf(workspace)}, execution-mode`, "its agent pool is not here; it is 'local' instead");
  return { "execution-mode": "local" };
}

/** A duration, a moment that has not passed, or the project's. */
function autoDestroyOf(workspace: Thing): Record<string, unknown> {
  if (workspace.attributes["inherits-project-auto-destroy"] !== false) return {};
  const duration = textOf(workspace, "auto-destroy-activity-duration");
  if (duration !== undefined) return { "auto-destroy-activity-duration": duration };
  const at = textOf(workspace, "auto-destroy-at");
  return at !== undefined && Date.parse(at) > Date.now() ? { "auto-destroy-at": at } : {};
}

/** Its SSH key and its repository, each once. */
async function connect(hand: Hand, workspace: Thing, ours: string, versionControl: VersionControl): Promise<void> {
  const label = nameOf(workspace);
  const theirKey = relatedId(workspace, "ssh-key");
  const key = hand.ours("ssh-keys", theirKey);
  if (theirKey !== undefined && key === undefined) hand.report.gap(kind, `${label}, ssh-key`, "the key is not here");
  if (key !== undefined)
    await hand.once("workspace-ssh-keys", workspace.id, label, async () => {
      await hand.door.send("PATCH", `/workspaces/${ours}/relationships/ssh-key`, bodyOf(kind, { id: key }));
    });
  const repository = workspace.attributes["vcs-repo"];
  if (!isObject(repository) || hand.ours("workspace-repositories", workspace.id) !== undefined) return;
  const token = versionControl.get(String(repository["oauth-token-id"]));
  if (token === undefined) {
    hand.report.gap(
      kind,
      `${label}, vcs-repo`,
      `${String(repository["identifier"])} is not connected, because its connection to version control is not here`,
    );
    return;
  }
  const names = ["identifier", "branch", "ingress-submodules", "tags-regex"];
  const sent = Object.fromEntries(names.map((name) => [name, repository[name]]).filter(([, value]) => value != null));
  await hand.once("workspace-repositories", workspace.id, label, async () => {
    const attributes = { "vcs-repo": { ...sent, "oauth-token-id": token } };
    await hand.door.send("PATCH", `/workspaces/${ours}`, bodyOf(kind, attributes));
  });
}

async function bringAccess(hand: Hand, workspace: Thing, ours: string): Promise<void> {
  const path = "/team-workspaces?filter[workspace][id]=";
  const label = nameOf(workspace);
  const found = (await hand.listThere("team-workspaces", label, path + workspace.id)) ?? [];
  if (found.length === 0) return;
  const shelf = await hand.shelfOf(ours, path + ours, (record) => relatedId(record, "team"));
  for (const record of found) await bringRecord(hand, "team-workspaces", record, { label, ours, shelf });
}

/** What there is no place for here, and a lock, which is its holder's. */
async function nameUnknown(hand: Hand, workspace: Thing): Promise<void> {
  const label = nameOf(workspace);
  if (flagOf(workspace, "locked"))
    hand.report.notes.push(`The workspace ${label} is locked at the source; here it is not.`);
  for (const notification of await hand.listIfThere(`/workspaces/${workspace.id}/notification-configurations`))
    hand.report.left(
      "notification-configurations",
      `${label}, ${textOf(notification, "name") ?? notification.id}`,
      "its token can't be read, so it is set up anew",
    );
}
