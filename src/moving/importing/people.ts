/** Teams, members by their addresses, and who is in which team. */
import { fold } from "../../kernel/text.ts";
import { teams as teamDefinition } from "../../resources/identity/teams/definition.ts";
import { findUsers } from "../store.ts";
import { linkage, relatedId, relatedIds, textOf, type Thing } from "../wire.ts";
import { type Hand, sendable } from "./hand.ts";

/** Who somebody at the source is here. */
export interface People {
  /** Null for nobody. */
  userId(sourceUserId: string | undefined): string | null;
  name(sourceUserId: string | undefined): string | undefined;
}

export async function bringTeams(hand: Hand): Promise<void> {
  const teams = (await hand.listThere("teams", "all", hand.there("/teams"))) ?? [];
  const shelf = await hand.shelf(hand.here("/teams"));
  for (const team of teams) {
    const name = textOf(team, "name") ?? team.id;
    await hand.bring({
      kind: "teams",
      sourceId: team.id,
      label: name,
      shelf,
      make: () =>
        hand.make({ kind: "teams", label: name }, "POST", hand.here("/teams"), {
          type: "teams",
          attributes: sendable(team, teamDefinition),
        }),
    });
  }
}

interface Member {
  readonly sourceUserId: string | undefined;
  readonly email: string | undefined;
  readonly username: string | undefined;
}

/** Members, and their seats in teams. */
export async function bringMembers(hand: Hand): Promise<People> {
  const members: Member[] = [];
  const seats: { readonly membership: Thing; readonly ours: string }[] = [];
  const shelf = await hand.shelf(hand.here("/organization-memberships"), emailKey);
  for await (const page of memberships(hand)) {
    for (const membership of page.things) {
      const sourceUserId = relatedId(membership, "user");
      const user = page.included.find(({ id, type }) => type === "users" && id === sourceUserId);
      const email = textOf(membership, "email") ?? (user && textOf(user, "email"));
      members.push({ sourceUserId, email, username: user && textOf(user, "username") });
      const ours = await bringMember(hand, membership, email, shelf);
      if (ours !== undefined) seats.push({ membership, ours });
    }
  }
  await bringSeats(hand, seats);
  return peopleOf(hand, members);
}

async function* memberships(hand: Hand) {
  try {
    yield* hand.peer.pages(hand.there("/organization-memberships?include=user"));
  } catch (error) {
    await hand.attempt("organization-memberships", "all", () => Promise.reject(error as Error));
  }
}

const kind = "organization-memberships";
const emailKey = (thing: Thing) => {
  const email = textOf(thing, "email");
  return email === undefined ? undefined : fold(email);
};

async function bringMember(
  hand: Hand,
  membership: Thing,
  email: string | undefined,
  shelf: Awaited<ReturnType<Hand["shelf"]>>,
): Promise<string | undefined> {
  if (email === undefined) {
    hand.report.left(kind, membership.id, "the source does not show the member's address");
    return undefined;
  }
  return hand.bring({
    kind,
    sourceId: membership.id,
    label: email,
    shelf,
    make: () => hand.make({ kind, label: email }, "POST", hand.here(`/${kind}`), { type: kind, attributes: { email } }),
  });
}

/** In one request for each team. */
async function bringSeats(hand: Hand, seats: readonly { membership: Thing; ours: string }[]): Promise<void> {
  const byTeam = new Map<string, { readonly pair: string; readonly ours: string }[]>();
  for (const { membership, ours } of seats)
    for (const team of relatedIds(membership, "teams")) {
      const pair = `${team} ${membership.id}`;
      if (hand.ours("team-members", pair) !== undefined) hand.report.count("team-members", "here");
      else byTeam.set(team, [...(byTeam.get(team) ?? []), { pair, ours }]);
    }
  for (const [team, wanted] of byTeam) {
    const ourTeam = hand.ours("teams", team);
    if (ourTeam === undefined) {
      hand.report.left("team-members", `${wanted.length} of ${team}`, "the team is not here");
      continue;
    }
    for (let start = 0; start < wanted.length; start += 500)
      await seat(hand, ourTeam, wanted.slice(start, start + 500));
  }
}

async function seat(hand: Hand, team: string, wanted: readonly { pair: string; ours: string }[]): Promise<void> {
  const ids = wanted.map(({ ours }) => ours);
  const done = await hand.attempt("team-members", `${ids.length} of ${team}`, async () => {
    if (!hand.dry) await hand.door.send("POST", `/teams/${team}/relationships/${kind}`, linkage(kind, ids));
    return true;
  });
  if (done === undefined) return;
  await hand.link(wanted.map(({ pair, ours }) => ({ kind: "team-members", sourceId: pair, ourId: ours })));
  hand.report.count("team-members", "brought", wanted.length);
}

async function peopleOf(hand: Hand, members: readonly Member[]): Promise<People> {
  const emails = members.flatMap(({ email }) => (email === undefined ? [] : [email]));
  const known = await findUsers(hand.request.context.database.reader, emails);
  const bySource = new Map(members.map((member) => [member.sourceUserId, member]));
  return {
    userId: (id) => known.get(fold(bySource.get(id)?.email ?? "")) ?? null,
    name: (id) => bySource.get(id)?.username ?? bySource.get(id)?.email,
  };
}
