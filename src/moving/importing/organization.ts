/** The organization itself: made here with its settings, or found as it is and left so. */
import { AppError } from "../../kernel/errors.ts";
import { quoted } from "../../kernel/text.ts";
import { organizations } from "../../resources/identity/organizations/definition.ts";
import { policyKinds } from "../../resources/register/data-retention-policies/definition.ts";
import { reservedTagKeys } from "../../resources/register/reserved-tag-keys/definition.ts";
import { bodyOf, Missing, textOf, type Thing } from "../wire.ts";
import { type Hand, sendable } from "./hand.ts";

const kind = "organizations";

/** The source's document. Raises `not-found`. */
export async function bringOrganization(hand: Hand): Promise<Thing> {
  const { from, to } = hand.request;
  const source = await findThere(hand, from);
  const existing = await hand.door.find(hand.here(""));
  if (existing !== undefined) {
    await hand.settle(textOf(existing, "external-id") ?? "");
    if (hand.ours(kind, source.id) === undefined)
      hand.report.notes.push(`The organization ${to} is here already: its settings are left as they are.`);
    hand.report.count(kind, "here");
  } else {
    const made = hand.dry ? undefined : await makeOrganization(hand, source);
    if (made !== undefined) await hand.settle(made);
    hand.report.count(kind, "brought");
  }
  await hand.link([{ kind, sourceId: source.id, ourId: to }]);
  return source;
}

async function findThere(hand: Hand, name: string): Promise<Thing> {
  try {
    return await hand.peer.get(hand.there(""));
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    throw new AppError(
      "not-found",
      `There is no organization ${quoted(name)} at ${hand.peer.base}, or the token may not see it. Check --organization, and that the token is of one of its owners.`,
    );
  }
}

/** Gives its id. Users' tokens are never switched off from the first: nobody here has another one yet. */
async function makeOrganization(hand: Hand, source: Thing): Promise<string> {
  const { to } = hand.request;
  const sent = sendable(source, organizations, ["name", "user-tokens-enabled", "default-execution-mode"]);
  const mode = textOf(source, "default-execution-mode");
  if (source.attributes["user-tokens-enabled"] === false)
    hand.report.gap(
      kind,
      `${to}, user-tokens-enabled`,
      "it is left on, because nobody has another token here yet; switch it off with the organization's token",
    );
  if (sent["email"] === undefined)
    hand.report.gap(kind, `${to}, email`, "the source does not show it; set it with an update of the organization");
  const attributes = {
    email: "nobody@localhost",
    ...sent,
    name: to,
    // A default pool is only there later (`settleDefaults`).
    ...(mode !== undefined && mode !== "agent" && { "default-execution-mode": mode }),
  };
  const told = { kind, label: to };
  await hand.make(told, "POST", "/organizations", { type: kind, attributes, required: ["name", "email"] });
  const made = await hand.door.get(hand.here(""));
  return textOf(made, "external-id") ?? "";
}

/** Its reserved tag keys, and how long it keeps old states. */
export async function bringRules(hand: Hand, source: Thing): Promise<void> {
  const kindOfKeys = "reserved-tag-keys";
  const keys = await hand.listIfThere(hand.there("/reserved-tag-keys"));
  const shelf = keys.length === 0 ? undefined : await hand.shelf(hand.here("/reserved-tag-keys"), keyOf);
  for (const key of keys)
    await hand.bring({
      kind: kindOfKeys,
      sourceId: key.id,
      label: keyOf(key) ?? key.id,
      key: keyOf(key) ?? "",
      shelf: shelf ?? { byKey: new Map(), ids: new Set() },
      make: () => {
        const attributes = sendable(key, reservedTagKeys);
        const told = { kind: kindOfKeys, label: keyOf(key) ?? key.id };
        return hand.make(told, "POST", hand.here("/reserved-tag-keys"), {
          type: kindOfKeys,
          attributes,
          required: ["key"],
        });
      },
    });
  await bringRetention(hand, source.id, hand.there(""), hand.here(""), hand.request.to);
}

const keyOf = (thing: Thing) => textOf(thing, "key");

/** A data retention policy, which not every server has; a workspace shows the organization's where it has none. */
export async function bringRetention(
  hand: Hand,
  sourceId: string,
  there: string,
  here: string,
  label: string,
): Promise<void> {
  const path = "/relationships/data-retention-policy";
  const policy = await hand.peer.get(there + path).catch((error: unknown) => {
    if (error instanceof Missing) return undefined;
    throw error;
  });
  if (policy === undefined || !(policyKinds as readonly string[]).includes(policy.type)) return;
  const owner = policy.relationships["workspace"];
  const isOrganizations = there === hand.there("");
  // One that was set elsewhere is shown here too.
  if (!isOrganizations && (owner === undefined || !JSON.stringify(owner).includes(`"${sourceId}"`))) return;
  const days = policy.attributes["delete-older-than-n-days"];
  const attributes = days === undefined ? {} : { "delete-older-than-n-days": days };
  const done = await hand.once("data-retention-policies", sourceId, label, async () => {
    await hand.door.send("POST", here + path, bodyOf(policy.type, attributes));
  });
  if (done) hand.report.count("data-retention-policies", "brought");
}

/** What has to wait until agent pools are here: the default mode `agent`, with its pool. */
export async function settleDefaults(hand: Hand, source: Thing, poolSourceId: string | undefined): Promise<void> {
  if (textOf(source, "default-execution-mode") !== "agent") return;
  const pool = hand.ours("agent-pools", poolSourceId);
  if (pool === undefined) {
    hand.report.gap(
      kind,
      `${hand.request.to}, default-execution-mode`,
      "its default agent pool is not here; 'remote' is",
    );
    return;
  }
  await hand.once("organization-defaults", source.id, hand.request.to, async () => {
    const attributes = { "default-execution-mode": "agent" };
    const relationships = { "default-agent-pool": { data: { type: "agent-pools", id: pool } } };
    await hand.door.send("PATCH", hand.here(""), bodyOf(kind, attributes, relationships));
  });
}

/** What an organization may have there that there is no place for here: asked for, so that it can be named. */
const unknownHere: readonly (readonly [kind: string, path: string, reason: string])[] = [
  ["policy-sets", "/policy-sets", "there are no policies here"],
  ["tasks", "/tasks", "there are no run tasks here"],
  ["registry-modules", "/registry-modules", "there is no registry of modules here"],
  ["registry-providers", "/registry-providers", "there is no registry of providers here"],
];

export async function nameUnknown(hand: Hand): Promise<void> {
  for (const [unknown, path, reason] of unknownHere)
    for (const thing of await hand.listIfThere(hand.there(path)))
      hand.report.left(unknown, textOf(thing, "name") ?? thing.id, reason);
}
