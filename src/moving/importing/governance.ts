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

export async function importAccessRules(importer: Importer, people: MemberDirectory): Promise<void> {
  const kind = "access-rules";
  const found = await importer.listSourceIfAny(importer.sourcePath(`/${kind}`));
  if (found.length === 0) return;
  const existing = await importer.listExisting(importer.localPath(`/${kind}`));
  for (const rule of found) {
    const label = textOf(rule, "name") ?? rule.id;
    await importer.importOne({
      kind,
      sourceId: rule.id,
      label,
      existing,
      create: () => {
        const policy = withOurIds(importer, people, textOf(rule, "policy") ?? "");
        if (policy.unknown.length > 0)
          importer.report.gap(kind, label, `its policy names ${policy.unknown.join(", ")}, which was not imported`);
        const attributes = {
          ...writableAttributes(rule, accessRules),
          policy: ofOurOrganization(importer, policy.text),
        };
        return importer.create({ kind, label }, "POST", importer.localPath(`/${kind}`), {
          type: kind,
          attributes,
          required: ["name", "policy", "enforcement"],
        });
      },
    });
  }
}

/** The id of an organization is its name. */
function ofOurOrganization({ request: { from, to } }: Importer, policy: string): string {
  return policy.replaceAll(/(\bOrganization\s*::\s*)"([^"]*)"/g, (whole, type: string, name: string) =>
    fold(name) === fold(from) ? `${type}"${to}"` : whole,
  );
}

/** They are disabled: an offer acts for its last writer, who must be a person here. */
export async function importAccessOffers(importer: Importer, people: MemberDirectory): Promise<void> {
  const kind = "access-offers";
  const found = await importer.listSourceIfAny(importer.sourcePath(`/${kind}`));
  if (found.length === 0) return;
  const existing = await importer.listExisting(importer.localPath(`/${kind}`));
  for (const offer of found) {
    const label = textOf(offer, "name") ?? offer.id;
    await importer.importOne({
      kind,
      sourceId: offer.id,
      label,
      existing,
      create: () => createOffer(importer, people, offer, label),
    });
  }
}

async function createOffer(
  importer: Importer,
  people: MemberDirectory,
  offer: WireResource,
  label: string,
): Promise<string> {
  const kind = "access-offers";
  const changes = withOurIds(importer, people, JSON.stringify(offer.attributes["changes"] ?? []));
  const id = await importer.create({ kind, label }, "POST", importer.localPath(`/${kind}`), {
    type: kind,
    attributes: {
      ...writableAttributes(offer, accessOffers),
      changes: JSON.parse(changes.text) as unknown,
      enabled: false,
    },
    relationships: {
      "eligible-teams": ourTeams(importer, offer, "eligible-teams"),
      "approver-teams": ourTeams(importer, offer, "approver-teams"),
    },
    required: ["name", "changes", "duration-seconds-max"],
  });
  if (offer.attributes["enabled"] !== false)
    importer.report.notes.push(`The access offer ${label} is disabled here: it acts for the person who enables it.`);
  return id;
}

const ourTeams = (importer: Importer, offer: WireResource, name: string) => ({
  data: relatedIds(offer, name).flatMap((team) => {
    const id = importer.localIdOf("teams", team);
    return id === undefined ? [] : [{ type: "teams", id }];
  }),
});
