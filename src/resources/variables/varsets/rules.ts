/** Pure rules of variable sets. */
import type { VarsetTable } from "../../../database/schema/variables.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { fold, quoted } from "../../../kernel/text.ts";
import { type VarsetLinkKind, type VarsetLinks, varsets, type VarsetView } from "./definition.ts";

type VarsetIdentity = Pick<VarsetTable, "id" | "organizationId" | "parentProjectId" | "createdAt">;

export function newVarset(attributes: CreateAttributes<typeof varsets>, identity: VarsetIdentity): VarsetTable {
  return {
    ...createdColumns(varsets, attributes),
    ...identity,
    linkedCount: 0,
    updatedAt: identity.createdAt,
    version: 1,
  };
}

export function parentProjectIn(parent: string | null | undefined, organizationName: string): string | undefined {
  return parent === undefined || parent === null || fold(parent) === fold(organizationName) ? undefined : parent;
}

export const linkKinds: readonly VarsetLinkKind[] = ["workspaces", "projects"];
export const noLinks: VarsetLinks = { workspaces: [], projects: [] };
export type VarsetLinksInput = { readonly [Kind in VarsetLinkKind]?: readonly string[] };

export const allLinksOf = ({ links, hiddenLinks }: VarsetView): VarsetLinks => ({
  workspaces: [...links.workspaces, ...hiddenLinks.workspaces].sort(),
  projects: [...links.projects, ...hiddenLinks.projects].sort(),
});

export function linksAfter(before: VarsetLinks, sent: VarsetLinksInput, global: number): VarsetLinks {
  if (global === 1) return noLinks;
  const idsOf = (kind: VarsetLinkKind) => (sent[kind] === undefined ? before[kind] : [...new Set(sent[kind])].sort());
  return { workspaces: idsOf("workspaces"), projects: idsOf("projects") };
}

export function difference(list: readonly string[], other: readonly string[]): string[] {
  const known = new Set(other);
  return list.filter((id) => !known.has(id));
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}

export interface VarsetReferenceMatches {
  readonly nameTaken: boolean;
  readonly workspaces: ReadonlyMap<string, string>;
  readonly projects: ReadonlySet<string>;
}

type LinkPointer = (kind: VarsetLinkKind, position: number) => string;
export const relationshipPointer: LinkPointer = (kind, position) => `/data/relationships/${kind}/data/${position}/id`;
export const linkagePointer: LinkPointer = (_, position) => `/data/${position}/id`;

export function linkFaults(
  sent: VarsetLinksInput,
  known: VarsetReferenceMatches,
  parentProjectId: string | null,
  pointerTo: LinkPointer,
): Fault[] {
  const projectOf = (kind: VarsetLinkKind, id: string): string | undefined =>
    kind === "workspaces" ? known.workspaces.get(id) : known.projects.has(id) ? id : undefined;
  const sentence = (kind: VarsetLinkKind, id: string): string | undefined => {
    const project = projectOf(kind, id);
    const noun = kind === "workspaces" ? "Workspace" : "Project";
    if (project === undefined) return `${noun} ${quoted(id)} does not exist in this organization`;
    if (parentProjectId === null || project === parentProjectId) return undefined;
    return `${noun} ${quoted(id)} is not in the project that owns the variable set`;
  };
  return linkKinds.flatMap((kind) =>
    (sent[kind] ?? []).flatMap((id, position) => {
      const detail = sentence(kind, id);
      return detail === undefined ? [] : [{ pointer: pointerTo(kind, position), detail }];
    }),
  );
}

export function globalFaults(set: Pick<VarsetTable, "global" | "parentProjectId">, sent: VarsetLinksInput): Fault[] {
  if (set.global === 0) return [];
  const sentKinds = linkKinds.filter((kind) => (sent[kind] ?? []).length > 0);
  return [
    ...(set.parentProjectId === null
      ? []
      : [
          attributeFault(
            "global",
            "Global can't be true for a variable set that a project owns; apply the set to that project instead",
          ),
        ]),
    ...sentKinds.map((kind) =>
      relationshipFault(
        kind,
        `The variable set is global and can't be applied to individual ${kind}; set global to false first`,
      ),
    ),
  ];
}

export function unknownParent(id: string): Fault {
  return relationshipFault("parent", `Parent ${quoted(id)} is neither this organization nor one of its projects`);
}
