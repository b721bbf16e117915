/** Imports teams, members (by email address) and team memberships. */
import { AppError } from "../../kernel/errors.ts";
import { fold } from "../../kernel/text.ts";
import { teams as teamDefinition } from "../../resources/identity/teams/definition.ts";
import { findUsers } from "../store.ts";
import { linkage, relatedId, relatedIds, textOf, type WireResource } from "../wire.ts";
import { type Importer, writableAttributes } from "./importer.ts";

export interface MemberDirectory {
  userId(sourceUserId: string | undefined): string | null;
  name(sourceUserId: string | undefined): string | undefined;
}

export async function importTeams(importer: Importer): Promise<void> {
  const teams = (await importer.listSource("teams", "all", importer.sourcePath("/teams"))) ?? [];
  const existing = await importer.listExisting(importer.localPath("/teams"));
  for (const team of teams) {
    const name = textOf(team, "name") ?? team.id;
    await importer.importOne({
      kind: "teams",
      sourceId: team.id,
      label: name,
      existing,
      create: () =>
        importer.create({ kind: "teams", label: name }, "POST", importer.localPath("/teams"), {
          type: "teams",
          attributes: writableAttributes(team, teamDefinition),
        }),
    });
  }
}

interface SourceMember {
  readonly sourceUserId: string | undefined;
  readonly email: string | undefined;
  readonly username: string | undefined;
}

export async function importMembers(importer: Importer): Promise<MemberDirectory> {
  const members: SourceMember[] = [];
  const teamMembers: { readonly membership: WireResource; readonly localId: string }[] = [];
  const existing = await importer.listExisting(importer.localPath("/organization-memberships"), emailKey);
  for await (const page of memberships(importer)) {
    for (const membership of page.resources) {
      const sourceUserId = relatedId(membership, "user");
      const user = page.included.find(({ id, type }) => type === "users" && id === sourceUserId);
      const email = textOf(membership, "email") ?? (user && textOf(user, "email"));
      members.push({ sourceUserId, email, username: user && textOf(user, "username") });
      const localId = await importMember(importer, membership, email, existing);
      if (localId !== undefined) teamMembers.push({ membership, localId });
    }
  }
  await importTeamMembers(importer, teamMembers);
  return peopleOf(importer, members);
}

async function* memberships(importer: Importer) {
  try {
    yield* importer.source.pages(importer.sourcePath("/organization-memberships?include=user"));
  } catch (error) {
    await importer.attempt("organization-memberships", "all", () => Promise.reject(error as Error));
  }
}

const kind = "organization-memberships";
const emailKey = (thing: WireResource) => {
  const email = textOf(thing, "email");
  return email === undefined ? undefined : fold(email);
};

async function importMember(
  importer: Importer,
  membership: WireResource,
  email: string | undefined,
  existing: Awaited<ReturnType<Importer["listExisting"]>>,
): Promise<string | undefined> {
  if (email === undefined) {
    importer.report.skip(kind, membership.id, "the source doesn't show the member's email address");
    return undefined;
  }
  return importer.importOne({
    kind,
    sourceId: membership.id,
    label: email,
    existing,
    create: () =>
      importer.create({ kind, label: email }, "POST", importer.localPath(`/${kind}`), {
        type: kind,
        attributes: { email },
      }),
  });
}

async function importTeamMembers(
  importer: Importer,
  teamMembers: readonly { membership: WireResource; localId: string }[],
): Promise<void> {
  const byTeam = new Map<string, { readonly pair: string; readonly localId: string }[]>();
  for (const { membership, localId } of teamMembers)
    for (const team of relatedIds(membership, "teams")) {
      const pair = `${team} ${membership.id}`;
      if (importer.localIdOf("team-members", pair) !== undefined) importer.report.count("team-members", "existing");
      else byTeam.set(team, [...(byTeam.get(team) ?? []), { pair, localId }]);
    }
  for (const [team, pending] of byTeam) {
    const ourTeam = importer.localIdOf("teams", team);
    if (ourTeam === undefined) {
      importer.report.skip("team-members", `${pending.length} of ${team}`, "the team was not imported");
      continue;
    }
    for (let start = 0; start < pending.length; start += 500)
      await addTeamMembers(importer, ourTeam, pending.slice(start, start + 500));
  }
}

interface PendingMember {
  readonly pair: string;
  readonly localId: string;
}

async function addTeamMembers(importer: Importer, team: string, pending: readonly PendingMember[]): Promise<void> {
  const ids = pending.map(({ localId }) => localId);
  let isRefused = false;
  const done = await importer.attempt("team-members", `${ids.length} of ${team}`, async () => {
    if (importer.dry) return true;
    const isAlone = ids.length === 1;
    const path = `/teams/${team}/relationships/${kind}`;
    try {
      await importer.api.send("POST", path, linkage(kind, ids), { recordsRefusal: isAlone });
    } catch (error) {
      isRefused = !isAlone && error instanceof AppError && error.code === "forbidden";
      if (!isRefused) throw error;
    }
    return true;
  });
  // An access rule forbids some of them.
  if (isRefused) {
    for (const member of pending) await addTeamMembers(importer, team, [member]);
    return;
  }
  if (done === undefined) return;
  await importer.link(pending.map(({ pair, localId }) => ({ kind: "team-members", sourceId: pair, ourId: localId })));
  importer.report.count("team-members", "imported", pending.length);
}

async function peopleOf(importer: Importer, members: readonly SourceMember[]): Promise<MemberDirectory> {
  const emails = members.flatMap(({ email }) => (email === undefined ? [] : [email]));
  const known = await findUsers(importer.request.context.database.reader, emails);
  const bySource = new Map(members.map((member) => [member.sourceUserId, member]));
  return {
    userId: (id) => known.get(fold(bySource.get(id)?.email ?? "")) ?? null,
    name: (id) => bySource.get(id)?.username ?? bySource.get(id)?.email,
  };
}
