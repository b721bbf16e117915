/** The actions in the Ctrl-K palette that the caller's permissions allow. */
import type { Resource } from "./api/client.ts";
import { paths } from "./paths.ts";
import type { Rights } from "./navigation.ts";

export type Workspace = Resource<"workspaces">;

export type PaletteAction = { readonly label: string } & ({ readonly to: string } | { readonly run: "unlock" });

/** `managesProject`: the caller can manage a project, and so grant access to it and move workspaces. */
export function organizationActions(organization: string, rights: Rights, managesProject: boolean): PaletteAction[] {
  const offered: [boolean | undefined, string, string][] = [
    [rights?.["can-create-workspace"], "New workspace", paths.newWorkspace(organization)],
    [rights?.["can-create-project"], "New project", paths.opening(paths.projects(organization), "create")],
    [rights?.["can-create-team"], "New team", paths.opening(paths.teams(organization), "create")],
    [rights?.["can-manage-memberships"], "Invite member", paths.opening(paths.people(organization), "invite")],
    [managesProject, "Grant access", paths.grant(organization)],
    [true, "Request access", paths.requestAccess(organization)],
    [true, "Break glass", paths.accessOffers(organization)],
    [rights?.["can-create-team"], "New offer", paths.newAccessOffer(organization)],
    [rights?.["can-update"], "New rule", paths.newAccessRule(organization)],
    [managesProject, "Move workspaces", paths.move(organization)],
    [true, "Create token", paths.opening(paths.tokens(organization), "create")],
  ];
  return offered.flatMap(([may, label, to]) => (may ? [{ label, to }] : []));
}

export function workspaceActions(
  organization: string,
  workspace: Workspace,
  userId: string | undefined,
): PaletteAction[] {
  const { name, permissions: may, locked, "execution-mode": mode } = workspace.attributes;
  const overview = paths.workspace(organization, name);
  const holder = workspace.relationships["locked-by"]?.data;
  const isOwnLock = holder?.type === "users" && holder.id === userId;
  const forces = locked && !isOwnLock && holder?.type !== "runs" && may["can-force-unlock"];
  const actions: [boolean | undefined, PaletteAction][] = [
    [may["can-queue-run"] && mode !== "local", { label: "Start run", to: paths.opening(overview, "start-run") }],
    [!locked && may["can-lock"], { label: "Lock", to: paths.opening(overview, "lock") }],
    [locked && isOwnLock, { label: "Unlock", run: "unlock" }],
    [forces, { label: "Force-unlock", to: paths.opening(overview, "force-unlock") }],
    [may["can-update"], { label: "Grant access", to: paths.grant(organization, { workspace: workspace.id }) }],
    [
      !may["can-update"],
      { label: "Request access", to: paths.requestAccess(organization, { workspace: workspace.id }) },
    ],
    [true, { label: "Who has access", to: paths.workspaceAccess(organization, name) }],
    [may["can-read-variable"], { label: "Variables", to: paths.workspaceVariables(organization, name) }],
    [true, { label: "Settings", to: paths.workspaceSettings(organization, name) }],
  ];
  return actions.flatMap(([may, action]) => (may ? [action] : []));
}

const vocabulary = "start run lock unlock force-unlock grant request access who has variables settings".split(" ");
const verbLengthMin = 3;

/** Such as "lock payments". */
export function verbIn(text: string): { readonly verb: string; readonly rest: string } | undefined {
  const words = text.toLowerCase().split(/\s+/);
  const isVerb = (word: string) => word.length >= verbLengthMin && vocabulary.some((known) => known.startsWith(word));
  const verb = words.filter(isVerb).join(" ");
  const rest = words.filter((word) => !isVerb(word)).join(" ");
  return verb === "" || rest === "" ? undefined : { verb, rest };
}
