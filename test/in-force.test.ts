/**
 * Expired access grants nothing: every statement that reads team memberships or team access filters out expired rows with `inForce`,
 * by the alias of their table.
 */
import { describe, expect, it } from "vitest";
import {
  functionsOf,
  type Node,
  parseSource,
  readSource,
  type SourceFile,
  sourcePaths,
  nodesWithin,
} from "./support/code.ts";

/** Functions that read expired rows too, by reason. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  "it handles expiry itself": [
    "resources/identity/teams/writes.ts removeEndedTeamMembers",
    "resources/shared/grants/in-force.ts expiredCountInTeam",
    "resources/shared/grants/in-force.ts expiredCountOfMembership",
    "resources/shared/grants/in-force.ts expiredCountOnProject",
    "resources/shared/grants/in-force.ts nextExpiry",
    "resources/shared/grants/expiry.ts lockFirstExpired",
    "resources/sharing/team-access/writes.ts removeExpiredRecords",
  ],
  "rows are deleted with another row, or counted until they are deleted": [
    "resources/identity/organization-memberships/writes.ts incrementMembershipVersionsInTeam",
    "resources/identity/teams/store.ts teamIdsOfGroups",
    "resources/identity/teams/writes.ts decrementCounts",
    "resources/identity/teams/writes.ts lockTeamsOfProvider",
    "resources/register/projects/writes.ts decrementTeamCounters",
  ],
  "it reads only rows without an expiry": [
    "resources/identity/teams/reads.ts refuseLastOwner",
    "resources/identity/teams/store.ts lockTeamsOfGroups",
  ],
};
const listed: readonly string[] = Object.values(reasons).flat();

const tables = "team_?(?:members|projects|workspaces)";
const inSql = new RegExp(`(?<!delete )\\b(?:from|join)\\s+(${tables})\\b(?:\\s+as\\s+(\\w+))?`, "gi");
const inBuilder = new RegExp(`^(${tables})(?: as (\\w+))?$`, "i");
const computedAlias = / as (\w+)$/;
const readers = new Set(["selectFrom", "innerJoin", "leftJoin", "crossJoin", "from"]);
/** The folders whose statements compute the name of the table. */
const computesTable = /^resources\/(sharing\/team-access|shared\/grants)\//;

const rawOf = (node: Node): string | undefined => {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type !== "TemplateLiteral") return undefined;
  return (node["quasis"] as readonly Node[]).map((quasi) => (quasi["value"] as { raw: string }).raw).join("\u0000");
};

const nameOf = (callee: Node): string =>
  String(callee.type === "MemberExpression" ? (callee["property"] as Node)["name"] : callee["name"]);

/** The aliases under which a node reads these tables. */
function readIn(node: Node, path: string): string[] {
  return nodesWithin(node).flatMap((part) => {
    if (part.type === "TemplateLiteral")
      return [...(rawOf(part) ?? "").matchAll(inSql)].map(([, table = "", alias]) => alias ?? table);
    if (part.type !== "CallExpression" || !readers.has(nameOf(part["callee"] as Node))) return [];
    let [first] = part["arguments"] as readonly Node[];
    while (first?.type === "TSAsExpression") first = first["expression"] as Node;
    if (first === undefined) return [];
    const raw = rawOf(first);
    if (raw === undefined || raw.startsWith("\u0000 as "))
      return computesTable.test(path) && !namesTargets(first)
        ? [computedAlias.exec(raw ?? "")?.[1] ?? "a computed table"]
        : [];
    const [, table, alias] = inBuilder.exec(raw) ?? [];
    return table === undefined ? [] : [alias ?? table];
  });
}

/** `${targets as "projects"} as x` chooses between projects and workspaces. */
const namesTargets = (node: Node): boolean =>
  nodesWithin(node).some((part) => part.type === "Identifier" && part["name"] === "targets");

const filteredIn = (node: Node): string[] =>
  nodesWithin(node).flatMap((part) => {
    if (part.type !== "CallExpression" || nameOf(part["callee"] as Node) !== "inForce") return [];
    const [first] = part["arguments"] as readonly Node[];
    return first === undefined ? [] : [rawOf(first) ?? ""];
  });

/** The functions of a file that read these tables without the filter. */
const unfiltered = (file: SourceFile): string[] =>
  functionsOf(file).flatMap(({ name, node }) => {
    const filtered = filteredIn(node);
    return readIn(node, file.path).flatMap((alias) => (filtered.includes(alias) ? [] : [`${file.path} ${name}`]));
  });

const found = sourcePaths
  .filter((path) => !path.startsWith("database/migrations/"))
  .flatMap((path) => unfiltered(readSource(path)));

describe("a function that reads access that can expire", () => {
  it("filters by inForce, or is listed with a reason", () => {
    expect([...new Set(found)].filter((name) => !listed.includes(name))).toEqual([]);
  });

  it("is listed only if it does not filter; the list may only shrink", () => {
    expect(listed.filter((name) => !found.includes(name))).toEqual([]);
    expect(listed).toHaveLength(14);
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
  ])("is recognized in %s", (code, count) => {
    expect(unfiltered(parseSource("a.ts", code))).toHaveLength(count);
  });
});
