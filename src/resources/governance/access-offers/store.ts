/** SQL of access offers and of their teams. */
import { sql } from "kysely";
import { type Actor, interactiveSessionAge, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf, type OrganizationStanding } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { AccessOfferTable, AccessOfferTeamTable } from "../../../database/schema/offers.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { factsColumns, type OrganizationView } from "../../identity/organizations/definition.ts";
import { includesActor, teamIsVisibleTo } from "../../identity/teams/visibility.ts";
import { actorTeams, standingColumns } from "../../shared/grants/reads.ts";
import { openWithId } from "../../shared/open-organizations.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { OfferTaker } from "./changes.ts";
import { type AccessOfferView, managesOffers, type OfferTeamIds, type OfferTeamKind } from "./definition.ts";

/** Ids joined by commas, which ids don't contain; those of teams that only holders of `access-secret-teams` see have a prefix. */
const secretPrefix = "-";

const teamList = (kind: OfferTeamKind, principal: string) => sql<string | null>`(
  select string_agg(case when ${teamIsVisibleTo(principal, { seesSecretTeams: false })} then '' else ${sql.lit(secretPrefix)} end
    || t.id, ',' order by t.id)
  from access_offer_teams as named inner join teams as t on t.id = named.team_id
  where named.access_offer_id = a.id and named.kind = ${kind})`;

const isInTeams = (kind: OfferTeamKind, principal: string) => sql<number>`case when exists (
  select 1 from access_offer_teams as named
  where named.access_offer_id = a.id and named.kind = ${kind}
    and named.team_id in ${actorTeams(sql.ref("a.organizationId"), principal)}) then 1 else 0 end`;

function offers({ db }: Tx, principal: string) {
  return db
    .selectFrom("accessOffers as a")
    .innerJoin("organizations as o", openWithId("a.organizationId"))
    .selectAll("a")
    .select(factsColumns)
    .select([
      teamList("eligible", principal).as("eligibleTeams"),
      teamList("approver", principal).as("approverTeams"),
      isInTeams("eligible", principal).as("eligibleIncludeActor"),
      isInTeams("approver", principal).as("approversIncludeActor"),
    ]);
}
type AccessOfferRow = Awaited<ReturnType<ReturnType<typeof offers>["executeTakeFirstOrThrow"]>>;

function toOfferView(actor: Actor, row: AccessOfferRow, standing: OrganizationStanding): AccessOfferView {
  const { eligibleTeams, approverTeams, eligibleIncludeActor, approversIncludeActor, ...offer } = row;
  return {
    ...offer,
    standing,
    teams: { eligible: teamIdsOf(eligibleTeams, standing), approver: teamIdsOf(approverTeams, standing) },
    isEligible: eligibleIncludeActor === 1,
    isApprover: approversIncludeActor === 1,
    isUser: actor.kind === "user",
  };
}

function teamIdsOf(list: string | null, { seesSecretTeams }: OrganizationStanding): OfferTeamIds {
  const marked = list === null ? [] : list.split(",");
  const idOf = (id: string) => (id.startsWith(secretPrefix) ? id.slice(secretPrefix.length) : id);
  const isVisible = (id: string) => seesSecretTeams || !id.startsWith(secretPrefix);
  return {
    visible: marked.filter(isVisible).map(idOf).sort(),
    hidden: marked.filter((id) => !isVisible(id)).map(idOf),
  };
}

export async function findOffer(tx: Tx, actor: Actor, id: string): Promise<AccessOfferView | undefined> {
  const row = await offers(tx, principalOf(actor))
    .select(standingColumns(sql.ref("a.organizationId"), principalOf(actor)))
    .where("a.id", "=", id)
    .executeTakeFirst();
  return row && toOfferView(actor, row, checkedStandingOf(actor, row));
}

/** For managers all, for others those whose teams they are in. */
export async function listOfferRows(tx: Tx, actor: Actor, organization: OrganizationView, page: Page) {
  const principal = principalOf(actor);
  let rows = offers(tx, principal).where("a.organizationId", "=", organization.id);
  if (!managesOffers(organization))
    rows = rows.where(
      sql<boolean>`a.id in (select named.access_offer_id from access_offer_teams as named
        where named.team_id in ${actorTeams(sql`${organization.id}`, principal)})`,
    );
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "a.nameKey" }, { column: "a.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("a.id")) },
  });
  return {
    views: found.rows.map((row) => toOfferView(actor, row, organization.standing)),
    totalCount: found.totals.totalCount,
  };
}

interface NamedTeamRow {
  readonly id: string;
  readonly includesActor: number;
}

/** Teams of the organization that the caller can see. */
export async function visibleTeamsAmong(
  tx: Tx,
  actor: Actor,
  { organizationId, standing }: Pick<AccessOfferView, "organizationId" | "standing">,
  ids: readonly string[],
): Promise<NamedTeamRow[]> {
  if (ids.length === 0) return [];
  const principal = principalOf(actor);
  return tx.db
    .selectFrom("teams as t")
    .select(["t.id", includesActor(principal).as("includesActor")])
    .where("t.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("t.id"), ids))
    .where(teamIsVisibleTo(principal, standing))
    .execute();
}

type ManagedOffer = Granted<AccessOfferView, "can-update">;

export async function insertOffer(
  tx: Tx,
  _into: Granted<OrganizationView, "can-create-team">,
  row: AccessOfferTable,
  teams: readonly AccessOfferTeamTable[],
): Promise<void> {
  await tx.db.insertInto("accessOffers").values(row).execute();
  await tx.db.insertInto("accessOfferTeams").values(teams).execute();
}

export async function updateOfferRow(tx: Tx, offer: ManagedOffer, changes: Partial<AccessOfferTable>): Promise<void> {
  await updateRow(tx, "accessOffers", offer.id, changes);
}

/** Replaces the teams of these kinds. */
export async function replaceOfferTeams(
  tx: Tx,
  offer: ManagedOffer,
  kinds: readonly OfferTeamKind[],
  teams: readonly AccessOfferTeamTable[],
): Promise<void> {
  if (kinds.length === 0) return;
  await tx.db.deleteFrom("accessOfferTeams").where("accessOfferId", "=", offer.id).where("kind", "in", kinds).execute();
  if (teams.length > 0) await tx.db.insertInto("accessOfferTeams").values(teams).execute();
}

export async function deleteOfferRow(tx: Tx, offer: Granted<AccessOfferView, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("accessOffers").where("id", "=", offer.id).execute();
}

/** Undefined if the membership is not active. */
export async function findTaker(tx: Tx, organizationId: string, userId: string): Promise<OfferTaker | undefined> {
  const row = await tx.db
    .selectFrom("organizationMemberships")
    .select("id as membershipId")
    .where("organizationId", "=", organizationId)
    .where("userId", "=", userId)
    .where("status", "=", "active")
    .executeTakeFirst();
  return row && { ...row, userId };
}

/** Doesn't load the caller's permissions: approvals read it for the offer's writer. */
export async function findOfferFacts(tx: Tx, id: string) {
  return tx.db
    .selectFrom("accessOffers as a")
    .innerJoin("organizations as o", openWithId("a.organizationId"))
    .select(["a.organizationId", "a.name", "a.enabled", "a.writerKind", "a.writerId", "o.name as organizationName"])
    .where("a.id", "=", id)
    .executeTakeFirst();
}

type OfferWriter = Pick<AccessOfferTable, "organizationId" | "writerKind" | "writerId">;

/** The last writer, with its present access. Undefined if it no longer exists. */
export async function findOfferWriter(
  tx: Tx,
  { organizationId, writerKind, writerId }: OfferWriter,
  organizationName: string,
): Promise<Actor | undefined> {
  const tokenId = "";
  if (writerKind === "operator") return { kind: "operator" };
  if (writerKind === "organization") return { kind: "organization", organizationId, name: organizationName, tokenId };
  if (writerKind === "team") {
    const team = await tx.db
      .selectFrom("teams")
      .select("name")
      .where("organizationId", "=", organizationId)
      .where("id", "=", writerId)
      .executeTakeFirst();
    return team && { kind: "team", teamId: writerId, name: team.name, organizationId, tokenId };
  }
  const user = await tx.db
    .selectFrom("users")
    .select(["username as name", "isSiteAdmin"])
    .where("id", "=", writerId)
    .executeTakeFirst();
  const tokenAgeMs = interactiveSessionAge;
  return (
    user && { kind: "user", userId: writerId, name: user.name, siteAdmin: user.isSiteAdmin === 1, tokenId, tokenAgeMs }
  );
}
