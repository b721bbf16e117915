/** Imports the organization itself, its rules and its defaults. It must not change the settings of an existing organization. */
import { AppError } from "../../kernel/errors.ts";
import { quoted } from "../../kernel/text.ts";
import { organizations } from "../../resources/identity/organizations/definition.ts";
import { policyKinds } from "../../resources/register/data-retention-policies/definition.ts";
import { reservedTagKeys } from "../../resources/register/reserved-tag-keys/definition.ts";
import { bodyOf, MissingResource, textOf, type WireResource } from "../wire.ts";
import { type Importer, writableAttributes } from "./importer.ts";

const kind = "organizations";

/** Throws `not-found`. */
export async function importOrganizationRecord(importer: Importer): Promise<WireResource> {
  const { from, to } = importer.request;
  const source = await findInSource(importer, from);
  const existing = await importer.api.find(importer.localPath(""));
  if (existing !== undefined) {
    await importer.useOrganization(textOf(existing, "external-id") ?? "");
    if (importer.localIdOf(kind, source.id) === undefined)
      importer.report.notes.push(`The organization ${to} already exists here; its settings were not changed.`);
    importer.report.count(kind, "existing");
  } else {
    const created = importer.dry ? undefined : await createOrganization(importer, source);
    if (created !== undefined) await importer.useOrganization(created);
    importer.report.count(kind, "imported");
  }
  await importer.link([{ kind, sourceId: source.id, ourId: to }]);
  return source;
}

async function findInSource(importer: Importer, name: string): Promise<WireResource> {
  try {
    return await importer.source.get(importer.sourcePath(""));
  } catch (error) {
    if (!(error instanceof MissingResource)) throw error;
    throw new AppError(
      "not-found",
      `There is no organization ${quoted(name)} at ${importer.source.base}, or the token has no access to it. Check the name, and use a token of one of its owners.`,
    );
  }
}

/** Must not disable user tokens: nobody has another token here yet. */
async function createOrganization(importer: Importer, source: WireResource): Promise<string> {
  const { to } = importer.request;
  const sent = writableAttributes(source, organizations, ["name", "user-tokens-enabled", "default-execution-mode"]);
  const mode = textOf(source, "default-execution-mode");
  if (source.attributes["user-tokens-enabled"] === false)
    importer.report.gap(
      kind,
      `${to}, user-tokens-enabled`,
      "it stays enabled, because nobody has another token here yet; disable it with the organization's token",
    );
  if (sent["email"] === undefined)
    importer.report.gap(kind, `${to}, email`, "the source does not show it; set it with an update of the organization");
  const attributes = {
    email: "nobody@localhost",
    ...sent,
    name: to,
    // `importDefaults` imports the default agent pool later.
    ...(mode !== undefined && mode !== "agent" && { "default-execution-mode": mode }),
  };
  const item = { kind, label: to };
  await importer.create(item, "POST", "/organizations", { type: kind, attributes, required: ["name", "email"] });
  const created = await importer.api.get(importer.localPath(""));
  return textOf(created, "external-id") ?? "";
}

export async function importRules(importer: Importer, source: WireResource): Promise<void> {
  const kindOfKeys = "reserved-tag-keys";
  const keys = await importer.listSourceIfAny(importer.sourcePath("/reserved-tag-keys"));
  const existing =
    keys.length === 0 ? undefined : await importer.listExisting(importer.localPath("/reserved-tag-keys"), keyOf);
  for (const key of keys)
    await importer.importOne({
      kind: kindOfKeys,
      sourceId: key.id,
      label: keyOf(key) ?? key.id,
      key: keyOf(key) ?? "",
      existing: existing ?? { byKey: new Map(), ids: new Set() },
      create: () => {
        const attributes = writableAttributes(key, reservedTagKeys);
        const item = { kind: kindOfKeys, label: keyOf(key) ?? key.id };
        return importer.create(item, "POST", importer.localPath("/reserved-tag-keys"), {
          type: kindOfKeys,
          attributes,
          required: ["key"],
        });
      },
    });
  await importRetention(importer, source.id, importer.sourcePath(""), importer.localPath(""), importer.request.to);
}

const keyOf = (thing: WireResource) => textOf(thing, "key");

export async function importRetention(
  importer: Importer,
  sourceId: string,
  sourcePath: string,
  localPath: string,
  label: string,
): Promise<void> {
  const path = "/relationships/data-retention-policy";
  const policy = await importer.source.get(sourcePath + path).catch((error: unknown) => {
    if (error instanceof MissingResource) return undefined;
    throw error;
  });
  if (policy === undefined || !(policyKinds as readonly string[]).includes(policy.type)) return;
  const owner = policy.relationships["workspace"];
  const isOrganizations = sourcePath === importer.sourcePath("");
  // A workspace without a policy shows that of its organization.
  if (!isOrganizations && (owner === undefined || !JSON.stringify(owner).includes(`"${sourceId}"`))) return;
  const days = policy.attributes["delete-older-than-n-days"];
  const attributes = days === undefined ? {} : { "delete-older-than-n-days": days };
  const done = await importer.runOnce("data-retention-policies", sourceId, label, async () => {
    await importer.api.send("POST", localPath + path, bodyOf(policy.type, attributes));
  });
  if (done) importer.report.count("data-retention-policies", "imported");
}

export async function importDefaults(
  importer: Importer,
  source: WireResource,
  poolSourceId: string | undefined,
): Promise<void> {
  if (textOf(source, "default-execution-mode") !== "agent") return;
  const pool = importer.localIdOf("agent-pools", poolSourceId);
  if (pool === undefined) {
    importer.report.gap(
      kind,
      `${importer.request.to}, default-execution-mode`,
      "its default agent pool was not imported; 'remote' is used instead",
    );
    return;
  }
  await importer.runOnce("organization-defaults", source.id, importer.request.to, async () => {
    const attributes = { "default-execution-mode": "agent" };
    const relationships = { "default-agent-pool": { data: { type: "agent-pools", id: pool } } };
    await importer.api.send("PATCH", importer.localPath(""), bodyOf(kind, attributes, relationships));
  });
}

const unsupportedKinds: readonly (readonly [kind: string, path: string, reason: string])[] = [
  ["policy-sets", "/policy-sets", "Cadastre has no policies"],
  ["tasks", "/tasks", "Cadastre has no run tasks"],
  ["registry-modules", "/registry-modules", "Cadastre has no module registry"],
  ["registry-providers", "/registry-providers", "Cadastre has no provider registry"],
];

export async function reportUnsupported(importer: Importer): Promise<void> {
  for (const [unknown, path, reason] of unsupportedKinds)
    for (const thing of await importer.listSourceIfAny(importer.sourcePath(path)))
      importer.report.skip(unknown, textOf(thing, "name") ?? thing.id, reason);
}
