/** Imports variables and variable sets. Sensitive variables are imported empty. */
import { vars as varDefinition } from "../../resources/variables/vars/definition.ts";
import { varsets as varsetDefinition } from "../../resources/variables/varsets/definition.ts";
import { forEachConcurrently } from "../concurrency.ts";
import { variableReason } from "../report.ts";
import { flagOf, linkage, relatedId, relatedIds, relatedType, textOf, type WireResource } from "../wire.ts";
import { type Importer, isPlaceholder, writableAttributes } from "./importer.ts";

/** Paths are `/workspaces/ws-…`, or `/varsets/varset-…/relationships`. */
export async function importVariables(
  importer: Importer,
  owner: { readonly sourcePath: string; readonly localPath: string; readonly localId: string; readonly label: string },
): Promise<void> {
  const found = (await importer.listSource("vars", owner.label, `${owner.sourcePath}/vars`)) ?? [];
  if (found.length === 0) return;
  const existing = await importer.listExistingOf(owner.localId, `${owner.localPath}/vars`, keyOf);
  for (const variable of found) {
    const label = `${owner.label}, ${textOf(variable, "key") ?? variable.id}`;
    const created = await importer.importOne({
      kind: "vars",
      sourceId: variable.id,
      label,
      key: keyOf(variable),
      existing,
      create: () =>
        importer.create({ kind: "vars", label }, "POST", `${owner.localPath}/vars`, {
          type: "vars",
          attributes: writableAttributes(variable, varDefinition),
          required: ["key", "category"],
        }),
    });
    if (created !== undefined && isPlaceholder(created) && flagOf(variable, "sensitive"))
      importer.report.addMissingSecret("vars", label, variableReason(textOf(variable, "category") ?? "terraform"));
  }
}

const keyOf = (variable: WireResource) =>
  `${textOf(variable, "category") ?? ""} ${textOf(variable, "key") ?? variable.id}`;

/** Needs projects and workspaces to exist. */
export async function importVarsets(importer: Importer): Promise<void> {
  const kind = "varsets";
  const sets = (await importer.listSource(kind, "all", importer.sourcePath("/varsets"))) ?? [];
  const existing = await importer.listExisting(importer.localPath("/varsets"));
  await forEachConcurrently(sets, importer.request.concurrency, async (set) => {
    const label = textOf(set, "name") ?? set.id;
    const parent = parentOf(importer, set);
    if (parent === "missing") {
      importer.report.skip(kind, label, "the project that owns it was not imported");
      return;
    }
    const localId = await importer.importOne({
      kind,
      sourceId: set.id,
      label,
      existing,
      create: () =>
        importer.create({ kind, label }, "POST", importer.localPath("/varsets"), {
          type: kind,
          attributes: writableAttributes(set, varsetDefinition),
          relationships: parent,
        }),
    });
    if (localId === undefined) return;
    await importVariables(importer, {
      sourcePath: `/varsets/${set.id}/relationships`,
      localPath: `/varsets/${localId}/relationships`,
      localId,
      label,
    });
    if (!flagOf(set, "global")) await importLinks(importer, set, localId, label);
  });
}

function parentOf(importer: Importer, set: WireResource): Record<string, object> | "missing" {
  if (relatedType(set, "parent") !== "projects") return {};
  const id = importer.localIdOf("projects", relatedId(set, "parent"));
  return id === undefined ? "missing" : { parent: { data: { type: "projects", id } } };
}

/** A link that was removed here is not restored. */
async function importLinks(importer: Importer, set: WireResource, localId: string, label: string): Promise<void> {
  for (const type of ["projects", "workspaces"] as const) {
    const kind = `varset-${type}`;
    const pending = relatedIds(set, type).flatMap((id) => {
      const [target, pair] = [importer.localIdOf(type, id), `${set.id} ${id}`];
      if (importer.localIdOf(kind, pair) !== undefined) importer.report.count(kind, "existing");
      else if (target === undefined)
        importer.report.skip(kind, `${label}, ${id}`, `it is not among the imported ${type}`);
      else return [{ kind, sourceId: pair, ourId: target }];
      return [];
    });
    for (let start = 0; start < pending.length; start += 500) {
      const part = pending.slice(start, start + 500);
      const done = await importer.attempt(kind, label, async () => {
        const ids = part.map(({ ourId }) => ourId);
        if (!importer.dry && !isPlaceholder(localId))
          await importer.api.send("POST", `/varsets/${localId}/relationships/${type}`, linkage(type, ids));
        return true;
      });
      if (done === undefined) continue;
      await importer.link(part);
      importer.report.count(kind, "imported", part.length);
    }
  }
}
