/** Variables, of workspaces and of variable sets, and what sets apply to. What is sensitive comes empty, to be entered. */
import { vars as varDefinition } from "../../resources/variables/vars/definition.ts";
import { varsets as varsetDefinition } from "../../resources/variables/varsets/definition.ts";
import { eachAtOnce } from "../at-once.ts";
import { variableReason } from "../report.ts";
import { flagOf, linkage, relatedId, relatedIds, relatedType, textOf, type Thing } from "../wire.ts";
import { type Hand, isUnmade, sendable } from "./hand.ts";

/** `owner` is where they are there and here: `/workspaces/ws-…`, or `/varsets/varset-…/relationships`. */
export async function bringVariables(
  hand: Hand,
  owner: { readonly there: string; readonly here: string; readonly ours: string; readonly label: string },
): Promise<void> {
  const found = (await hand.listThere("vars", owner.label, `${owner.there}/vars`)) ?? [];
  if (found.length === 0) return;
  const shelf = await hand.shelfOf(owner.ours, `${owner.here}/vars`, keyOf);
  for (const variable of found) {
    const label = `${owner.label}, ${textOf(variable, "key") ?? variable.id}`;
    const made = await hand.bring({
      kind: "vars",
      sourceId: variable.id,
      label,
      key: keyOf(variable),
      shelf,
      make: () =>
        hand.make({ kind: "vars", label }, "POST", `${owner.here}/vars`, {
          type: "vars",
          attributes: sendable(variable, varDefinition),
          required: ["key", "category"],
        }),
    });
    if (made !== undefined && isUnmade(made) && flagOf(variable, "sensitive"))
      hand.report.enter("vars", label, variableReason(textOf(variable, "category") ?? "terraform"));
  }
}

const keyOf = (variable: Thing) => `${textOf(variable, "category") ?? ""} ${textOf(variable, "key") ?? variable.id}`;

/** Once projects and workspaces are here. */
export async function bringVarsets(hand: Hand): Promise<void> {
  const kind = "varsets";
  const sets = (await hand.listThere(kind, "all", hand.there("/varsets"))) ?? [];
  const shelf = await hand.shelf(hand.here("/varsets"));
  await eachAtOnce(sets, hand.request.concurrency, async (set) => {
    const label = textOf(set, "name") ?? set.id;
    const parent = parentOf(hand, set);
    if (parent === "missing") {
      hand.report.left(kind, label, "the project that owns it is not here");
      return;
    }
    const ours = await hand.bring({
      kind,
      sourceId: set.id,
      label,
      shelf,
      make: () =>
        hand.make({ kind, label }, "POST", hand.here("/varsets"), {
          type: kind,
          attributes: sendable(set, varsetDefinition),
          relationships: parent,
        }),
    });
    if (ours === undefined) return;
    await bringVariables(hand, {
      there: `/varsets/${set.id}/relationships`,
      here: `/varsets/${ours}/relationships`,
      ours,
      label,
    });
    if (!flagOf(set, "global")) await bringLinks(hand, set, ours, label);
  });
}

function parentOf(hand: Hand, set: Thing): Record<string, object> | "missing" {
  if (relatedType(set, "parent") !== "projects") return {};
  const id = hand.ours("projects", relatedId(set, "parent"));
  return id === undefined ? "missing" : { parent: { data: { type: "projects", id } } };
}

/** Each pair once: one that is taken away here is not put back. */
async function bringLinks(hand: Hand, set: Thing, ours: string, label: string): Promise<void> {
  for (const type of ["projects", "workspaces"] as const) {
    const kind = `varset-${type}`;
    const wanted = relatedIds(set, type).flatMap((id) => {
      const [target, pair] = [hand.ours(type, id), `${set.id} ${id}`];
      if (hand.ours(kind, pair) !== undefined) hand.report.count(kind, "here");
      else if (target === undefined) hand.report.left(kind, `${label}, ${id}`, `it is not among the ${type} here`);
      else return [{ kind, sourceId: pair, ourId: target }];
      return [];
    });
    for (let start = 0; start < wanted.length; start += 500) {
      const part = wanted.slice(start, start + 500);
      const done = await hand.attempt(kind, label, async () => {
        const ids = part.map(({ ourId }) => ourId);
        if (!hand.dry && !isUnmade(ours))
          await hand.door.send("POST", `/varsets/${ours}/relationships/${type}`, linkage(type, ids));
        return true;
      });
      if (done === undefined) continue;
      await hand.link(part);
      hand.report.count(kind, "brought", part.length);
    }
  }
}
