/** Names permissions, levels and their sources. Only the server decides what they allow. */
import type { Resources } from "../api/client.ts";
import { expiryText } from "../ui/expiry.ts";
import { counted } from "../ui/text.tsx";

export type PermissionValues = Readonly<Record<string, string | boolean>>;
export type Source = Partial<
  Resources["access-explanations"]["attributes"]["permissions"]["settings"]["given-by"][number]
> & { readonly kind: string; readonly records?: number };

export type AccessTargetKind = "project" | "workspace";

export interface AccessTarget {
  readonly kind: AccessTargetKind;
  readonly id: string;
  readonly name: string;
  readonly project?: { readonly id: string; readonly name: string } | undefined;
}

export interface AccessSubject {
  readonly type: "teams" | "users";
  readonly id: string;
  readonly name: string;
}

/** In display order. Permissions that always go together share a word; the first name is the highest. */
const words: readonly (readonly [word: string, ...names: string[]])[] = [
  ["read", "can-read-settings", "can-read-run", "can-read-assessment-results"],
  ["plan", "can-queue-run"],
  ["apply", "can-queue-apply", "can-queue-destroy"],
  ["write variables", "can-update-variable"],
  ["read variables", "can-read-variable"],
  ["write states", "can-create-state-versions"],
  ["read states", "can-read-state-versions"],
  ["read outputs", "can-read-state-outputs"],
  ["lock", "can-lock", "can-unlock"],
  ["force-unlock", "can-force-unlock"],
  ["change settings", "can-manage-tags", "can-manage-assessments", "can-manage-ephemeral-workspaces"],
  ["run tasks", "can-manage-run-tasks"],
  ["force-delete", "can-force-delete"],
  ["create workspaces", "can-create-workspace"],
  ["move workspaces", "can-move-workspaces"],
  ["manage access", "can-manage-team-access"],
  ["see access", "can-read-team-access"],
];
const shared: Readonly<Record<string, Readonly<Record<AccessTargetKind, string>>>> = {
  "can-update": { project: "change the project", workspace: "change settings" },
  "can-destroy": { project: "delete the project", workspace: "delete" },
  "can-read": { project: "see the project", workspace: "read" },
};
/** Omitted if the higher permission is listed. */
const lower: Readonly<Record<string, readonly string[]>> = {
  "read variables": ["write variables"],
  "read states": ["write states"],
  "read outputs": ["read states", "write states"],
  "see access": ["manage access"],
};

/** `["can-queue-run", "can-queue-apply"]` → "plan, apply". */
export function permissionsText(permissions: readonly string[], kind: AccessTargetKind): string {
  const found = new Set<string>();
  for (const [word, ...names] of words) if (names.some((name) => permissions.includes(name))) found.add(word);
  for (const name of permissions) {
    const known = shared[name]?.[kind];
    if (known !== undefined) found.add(known);
    else if (!words.some(([, ...names]) => names.includes(name))) found.add(plainName(name));
  }
  return [...found].filter((word) => !lower[word]?.some((higher) => found.has(higher))).join(", ");
}

export const plainName = (name: string): string =>
  name === "can-traverse" ? "be a member" : name.replace(/^can-/, "").replaceAll("-", " ");

export const permissionChoices: readonly { readonly value: string; readonly label: string }[] = [
  "can-read-run",
  "can-queue-run",
  "can-queue-apply",
  "can-read-variable",
  "can-update-variable",
  "can-read-state-outputs",
  "can-read-state-versions",
  "can-create-state-versions",
  "can-lock",
  "can-force-unlock",
  "can-update",
  "can-manage-run-tasks",
  "can-destroy",
  "can-force-delete",
  "can-create-workspace",
].map((value) => ({
  value,
  label:
    value === "can-update"
      ? "change settings"
      : value === "can-create-workspace"
        ? "create workspaces"
        : permissionsText([value], "workspace"),
}));

export function sourceText({ kind, permission, level }: Source): string {
  switch (kind) {
    case "site-admin":
      return "site admin";
    case "organization-token":
      return "organization token";
    case "ownership":
      return "owner";
    case "organization-permission":
      return `organization: ${plainName(permission ?? "")}`;
    case "team-project":
      return `project: ${level}`;
    default:
      return `workspace: ${level}`;
  }
}

interface SourcesShown {
  readonly sources: readonly Source[];
  readonly hidden: number;
  readonly hasTeams: boolean;
  readonly now: number;
}

export function sourcesText({ sources, hidden, hasTeams, now }: SourcesShown): string {
  const all = sources.map((source) => {
    const team = hasTeams && source.team && source.kind !== "ownership" ? `${source.team.name}, ` : "";
    const many = (source.records ?? 1) > 1 ? ` (${counted(source.records ?? 1, "grant")})` : "";
    const end = source.until ? ` · ${expiryText(source.until, now)}` : "";
    return `${team}${sourceText(source)}${many}${end}`;
  });
  return [...new Set(all), ...(hidden > 0 ? [`${hidden} hidden`] : [])].join("; ");
}
