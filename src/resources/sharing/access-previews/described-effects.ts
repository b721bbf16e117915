/** Describes the effects of changes as documents show them to a caller. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { DescribedEffects, HiddenCounts } from "./definition.ts";
import { effectsOn, isEmptyEffect, type PreviewEffects } from "./effects.ts";
import { nameEffects, type SubjectEffect } from "./naming.ts";
import type { PreviewSubject, SnapshotComparison } from "./snapshots.ts";

/** `isApplied`: the statements see access after the changes. */
export async function describeEffects(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  comparison: SnapshotComparison,
  isApplied: boolean,
): Promise<DescribedEffects> {
  const effects = [...(await effectsOnAll(comparison))];
  const [gains, losses] = [sideOf(effects, "gains"), sideOf(effects, "losses")];
  const visible = [...gains.visible, ...losses.visible];
  const named = await nameEffects(tx, context, organization, comparison, visible, isApplied);
  return {
    gains: named.slice(0, gains.visible.length),
    losses: named.slice(gains.visible.length),
    unseenGains: gains.unseen,
    unseenLosses: losses.unseen,
  };
}

interface EffectSide {
  readonly visible: readonly SubjectEffect[];
  readonly unseen: HiddenCounts;
}

function sideOf(effects: readonly (readonly [PreviewSubject, PreviewEffects])[], side: "gains" | "losses"): EffectSide {
  const all = effects
    .map(([subject, both]): SubjectEffect => ({ subject, effect: both[side] }))
    .filter(({ effect }) => !isEmptyEffect(effect));
  const unseen = (type: PreviewSubject["type"]) =>
    all.filter(({ subject }) => !subject.isVisible && subject.type === type).length;
  return {
    visible: all.filter(({ subject }) => subject.isVisible).toSorted(bySubject),
    unseen: { teams: unseen("teams"), users: unseen("users") },
  };
}

const bySubject = ({ subject: a }: SubjectEffect, { subject: b }: SubjectEffect): number =>
  a.type === b.type ? (fold(a.name) < fold(b.name) ? -1 : 1) : a.type < b.type ? -1 : 1;

export async function effectsOnAll({
  previewed,
  subjects,
}: SnapshotComparison): Promise<Map<PreviewSubject, PreviewEffects>> {
  const known = new Map<string, PreviewEffects>();
  const all = new Map<PreviewSubject, PreviewEffects>();
  for (const subject of subjects) {
    const key = `${subject.type} ${subject.equivalenceKey}`;
    let effects = known.get(key);
    if (effects === undefined) {
      effects = effectsOn(asActor(subject, previewed.organizationId), previewed, subject.before, subject.after);
      known.set(key, effects);
      await new Promise(setImmediate);
    }
    all.set(subject, effects);
  }
  return all;
}

function asActor({ type, id, name, isSiteAdmin }: PreviewSubject, organizationId: string): Actor {
  if (type === "teams") return { kind: "team", teamId: id, name, organizationId, tokenId: "" };
  return { kind: "user", userId: id, name, siteAdmin: isSiteAdmin, tokenId: "", tokenAgeMs: 0 };
}
