/** Imports access rules and offers, which other Cadastre servers have. Comes last: they name everything else, and don't apply to the import. */
import { fold } from "../../kernel/text.ts";
import { accessOffers } from "../../resources/governance/access-offers/definition.ts";
import { accessRules } from "../../resources/governance/access-rules/definition.ts";
import { relatedIds, textOf, type WireResource } from "../wire.ts";
import { type Importer, writableAttributes } from "./importer.ts";
import type { MemberDirectory } from "./people.ts";

const kindsByPrefix: Readonly<Record<string, string>> = {
  team: "teams",
  prj: "projects",
  ws: "workspaces",
  ou: "organization-memberships",
};

interface RenamedText {
  readonly text: string;
  /** Ids of the source that have no equal here. */
  readonly unknown: readonly string[];
}

/** Replaces the ids of the source by ours. */
function withOurIds(importer: Importer, people: MemberDirectory, text: string): RenamedText {
  const unknown = new Set<string>();
  const renamed = text.replaceAll(/\b(team|prj|ws|ou|user)-[A-Za-z0-9]{16}\b/g, (id, prefix: string) => {
    const ours = prefix === "user" ? people.userId(id) : importer.localIdOf(kindsByPrefix[prefix] ?? "", id);
    if (ours === undefined || ours === null) unknown.add(id);
    return ours ?? id;
  });
  return { text: renamed, unknown: [...unknown] };
}

interface NamedKind {
  readonly kind: "access-rules" | "access-offers";
  readonly create: (item: WireResource, label: string) => Promise<string>;
}

async function importNamed(importer: Importer, { kind, create }: NamedKind): Promise<void> {
  const found = await importer.listSourceIfAny(importer.sourcePath(`/${kind}`));
  if (found.length === 0) return;
  const existing = await importer.listExisting(importer.localPath(`/${kind}`));
  for (const item of found) {
    const label = textOf(item, "name") ?? item.id;
    await importer.importOne({ kind, sourceId: item.id, label, existing, create: () => create(item, label) });
  }
}

export const importAccessRules = (importer: Importer, people: MemberDirectory): Promise<void> =>
  importNamed(importer, { kind: "access-rules", create: (rule, label) => createRule(importer, people, rule, label) });

/** They are disabled: an offer acts for its last writer, who must be a person here. */
export const importAccessOffers = (importer: Importer, people: MemberDirectory): Promise<void> =>
  importNamed(importer, {
    kind: "access-offers",
    create: (offer, label) => createOffer(importer, people, offer, label),
  });

async function createRule(
  importer: Importer,
  people: MemberDirectory,
  rule: WireResource,
  label: string,
): Promise<string> {
  const kind = "access-rules";
  const policy = withOurIds(importer, people, textOf(rule, "policy") ?? "");
  reportUnknown(importer, { kind, label, subject: "its policy names", ids: policy.unknown });
  return importer.create({ kind, label }, "POST", importer.localPath(`/${kind}`), {
    type: kind,
    attributes: { ...writableAttributes(rule, accessRules), policy: ofOurOrganization(importer, policy.text) },
    required: ["name", "policy", "enforcement"],
  });
}

/** The id of an organization is its name. */
function ofOurOrganization({ request: { from, to } }: Importer, policy: string): string {
  return policy.replaceAll(/(\bOrganization\s*::\s*)"([^"]*)"/g, (whole, type: string, name: string) =>
    fold(name) === fold(from) ? `${type}"${to}"` : whole,
  );
}

async function createOffer(
  importer: Importer,
  people: MemberDirectory,
  offer: WireResource,
  label: string,
): Promise<string> {
  const kind = "access-offers";
  const changes = withOurIds(importer, people, JSON.stringify(offer.attributes["changes"] ?? []));
  reportUnknown(importer, { kind, label, subject: "its changes name", ids: changes.unknown });
  const id = await importer.create({ kind, label }, "POST", importer.localPath(`/${kind}`), {
    type: kind,
    attributes: {
      ...writableAttributes(offer, accessOffers),
      changes: JSON.parse(changes.text) as unknown,
      enabled: false,
    },
    relationships: Object.fromEntries(
      ["eligible-teams", "approver-teams"].map((name) => [name, ourTeams(importer, offer, label, name)]),
    ),
    required: ["name", "changes", "duration-seconds-max"],
  });
  if (offer.attributes["enabled"] !== false)
    importer.report.notes.push(`The access offer ${label} is disabled here: it acts for the person who enables it.`);
  return id;
}

function ourTeams(importer: Importer, offer: WireResource, label: string, name: string): { readonly data: object[] } {
  const teams = relatedIds(offer, name).map((theirs) => ({ theirs, id: importer.localIdOf("teams", theirs) }));
  const ids = teams.flatMap(({ theirs, id }) => (id === undefined ? [theirs] : []));
  reportUnknown(importer, { kind: "access-offers", label, subject: `its ${name.replace("-", " ")} included`, ids });
  return { data: teams.flatMap(({ id }) => (id === undefined ? [] : [{ type: "teams", id }])) };
}

interface UnknownIds {
  readonly kind: string;
  readonly label: string;
  readonly subject: string;
  readonly ids: readonly string[];
}

function reportUnknown({ report }: Importer, { kind, label, subject, ids }: UnknownIds): void {
  if (ids.length === 0) return;
  report.gap(kind, label, `${subject} ${ids.join(", ")}, which ${ids.length === 1 ? "was" : "were"} not imported`);
}
