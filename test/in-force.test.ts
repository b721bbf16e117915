/**
 * Access that was given until a moment gives nothing afterwards: whatever reads places in teams or records of team access asks
 * whether they are still in force (`inForce`), by the name under which its statement knows them.
 */
import { describe, expect, it } from "vitest";
import { functionsOf, type Node, parsed, readSource, type SourceFile, sourcePaths, within } from "./support/code.ts";

/** What reads them whether or not they have ended, and why that is right. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "it is about what ends, or has ended": [
    "resources/identity/teams/writes.ts removeEndedTeamMembers",
    "resources/shared/grants/in-force.ts expiredCountInTeam",
    "resources/shared/grants/in-force.ts expiredCountOfMembership",
    "resources/shared/grants/in-force.ts expiredCountOnProject",
    "resources/shared/grants/in-force.ts nextExpiry",
    "resources/shared/grants/expiry.ts lockFirstExpired",
    "resources/sharing/team-access/writes.ts removeExpiredRecords",
  ],
  "rows that go, or are counted until they do, with something else": [
    "resources/identity/organization-memberships/writes.ts raiseMembershipsInTeam",
    "resources/identity/teams/store.ts teamIdsOfGroups",
    "resources/identity/teams/writes.ts decrementCounts",
    "resources/identity/teams/writes.ts lockTeamsOfProvider",
    "resources/register/projects/writes.ts uncountTeam",
  ],
  "it asks for what has no end at all": [
    "resources/identity/teams/reads.ts refuseLastOwner",
    "resources/identity/teams/store.ts lockTeamsOfGroups",
  ],
};
const excused: readonly string[] = Object.values(reasons).flat();

const tables = "team_?(?:members|projects|workspaces)";
const inSql = new RegExp(`(?<!delete )\\b(?:from|join)\\s+(${tables})\\b(?:\\s+as\\s+(\\w+))?`, "gi");
const inBuilder = new RegExp(`^(${tables})(?: as (\\w+))?$`, "i");
const chosen = / as (\w+)$/;
const readers = new Set(["selectFrom", "innerJoin", "leftJoin", "crossJoin", "from"]);
/** The folders in which the running program chooses one of the tables. */
const choosing = /^resources\/(sharing\/team-access|shared\/grants)\//;

const rawOf = (node: Node): string | undefined => {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type !== "TemplateLiteral") return undefined;
  return (node["quasis"] as readonly Node[]).map((quasi) => (quasi["value"] as { raw: string }).raw).join("\u0000");
};

const nameOf = (callee: Node): string =>
  String(callee.type === "MemberExpression" ? (callee["property"] as Node)["name"] : callee["name"]);

/** The names under which a part of the code reads them. */
function readIn(node: Node, path: string): string[] {
  return within(node).flatMap((part) => {
    if (part.type === "TemplateLiteral")
      return [...(rawOf(part) ?? "").matchAll(inSql)].map(([, table = "", alias]) => alias ?? table);
    if (part.type !== "CallExpression" || !readers.has(nameOf(part["callee"] as Node))) return [];
    let [first] = part["arguments"] as readonly Node[];
    while (first?.type === "TSAsExpression") first = first["expression"] as Node;
    if (first === undefined) return [];
    const raw = rawOf(first);
    if (raw === undefined || raw.startsWith("\u0000 as "))
      return choosing.test(path) && !namesTargets(first)
        ? [chosen.exec(raw ?? "")?.[1] ?? "a table of its choice"]
        : [];
    const [, table, alias] = inBuilder.exec(raw) ?? [];
    return table === undefined ? [] : [alias ?? table];
  });
}

/** `${targets as "projects"} as x` chooses between projects and workspaces. */
const namesTargets = (node: Node): boolean =>
  within(node).some((part) => part.type === "Identifier" && part["name"] === "targets");

const askedIn = (node: Node): string[] =>
  within(node).flatMap((part) => {
    if (part.type !== "CallExpression" || nameOf(part["callee"] as Node) !== "inForce") return [];
    const [first] = part["arguments"] as readonly Node[];
    return first === undefined ? [] : [rawOf(first) ?? ""];
  });

/** The functions of a file that read them without asking, with the name that they read them under. */
const unasked = (file: SourceFile): string[] =>
  functionsOf(file).flatMap(({ name, node }) => {
    const asked = askedIn(node);
    return readIn(node, file.path).flatMap((alias) => (asked.includes(alias) ? [] : [`${file.path} ${name}`]));
  });

const found = sourcePaths
  .filter((path) => !path.startsWith("database/migrations/"))
  .flatMap((path) => unasked(readSource(path)));

describe("what reads access that may have ended", () => {
  it("asks whether it is in force, or is known not to need to", () => {
    expect([...new Set(found)].filter((name) => !excused.includes(name))).toEqual([]);
  });

  it("is excused only where it does not ask, by a list that only shrinks", () => {
    expect(excused.filter((name) => !found.includes(name))).toEqual([]);
    expect(excused).toHaveLength(14);
  });

  it.each([
    ["const f = sql`select 1 from team_members where team_id = 1`", 1],
    ["const f = sql`select 1 from team_members as tm where ${inForce('tm')}`", 0],
    ["const f = sql`select 1 from team_members as tm where ${inForce('other')}`", 1],
    ["const f = sql`select 1 from a cross join team_projects as g where ${inForce('g')}`", 0],
    ["const f = sql`delete from team_members where id = 1`", 0],
    ['const f = db.selectFrom("teamWorkspaces").select("id")', 1],
    ['const f = db.leftJoin("teamProjects as tp", (join) => join.on(inForce("tp")))', 0],
    ['const f = db.selectFrom("teams").select("id")', 0],
  ])("is found in %s", (code, count) => {
    expect(unasked(parsed("a.ts", code))).toHaveLength(count);
  });
});
