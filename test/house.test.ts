/** The house holds together: who may import whom, told once as a table and read off the code's own imports. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";

const base = ["kernel", "statefile", "access", "jsonapi", "database"];
const register = ["shared", "identity", "site", "register"].map((room) => `resources/${room}`);

const beside = ["sharing", "variables", "connections", "state"].map((room) => `resources/${room}`);

/** Each room, and the rooms below it. Nothing else may be imported; files of one room may import each other. */
const below: Record<string, readonly string[]> = {
  kernel: [],
  statefile: ["kernel"],
  archive: ["kernel"],
  outgoing: ["kernel"],
  sandbox: ["kernel"],
  agent: ["kernel", "archive", "sandbox", "statefile", "version.ts"],
  access: ["kernel"],
  jsonapi: ["kernel"],
  database: ["kernel"],
  backup: ["kernel", "database"],
  "resources/shared": [...base, "outgoing"],
  "resources/identity": [...base, "outgoing", ...register.slice(0, 1)],
  "resources/site": [...base, ...register.slice(0, 2)],
  "resources/register": [...base, ...register.slice(0, 3)],
  "resources/sharing": [...base, ...register],
  "resources/variables": [...base, ...register],
  "resources/connections": [...base, "outgoing", ...register],
  "resources/state": [...base, ...register],
  "resources/runs": [...base, "archive", ...register, ...beside],
  "resources/vcs": [...base, "archive", "outgoing", "sandbox", ...register, ...beside, "resources/runs"],
  "resources/index.ts": [...base, "resources/*"],
  jobs: [...base, "backup", "resources/*"],
  http: [...base, "backup", "resources/*", "version.ts"],
  moving: [...base, "resources/*", "version.ts"],
  "version.ts": [],
  "settings.ts": ["kernel", "version.ts"],
  "service.ts": [...base, "resources/*", "settings.ts"],
  "workers.ts": ["kernel", "database", "agent", "resources/*", "settings.ts", "service.ts"],
  "console.ts": [],
  "announcement.ts": ["kernel", "http", "settings.ts", "service.ts", "version.ts"],
  "tls.ts": ["kernel"],
  "main.ts": ["*"],
  cli: ["*"],
};

/** The folders of each room from below: a folder imports those before it. */
const folders: Record<string, readonly string[]> = {
  identity: [
    "admin-organizations",
    "organizations",
    "organization-token-ttl-policies",
    "teams",
    "authentication-tokens",
    "sessions",
    "users",
    "invitations",
    "organization-memberships",
    "audit-events",
    "audit-trails",
    "authorizations",
    "identity-trusts",
    "sso-providers",
    "sign-in-options",
  ],
  site: ["entitlement-sets", "feature-sets", "subscriptions", "terraform-versions"],
  register: [
    "tag-bindings",
    "projects",
    "workspaces",
    "tags",
    "data-retention-policies",
    "reserved-tag-keys",
    "workspace-moves",
  ],
  sharing: ["access-explanations", "reach", "access-holders", "access-previews", "team-access"],
  variables: ["varsets", "vars"],
  connections: [
    "agent-pools",
    "site-agent-pools",
    "agent-tokens",
    "deliveries",
    "audit-webhooks",
    "notification-configurations",
    "oauth-clients",
    "oauth-tokens",
    "ssh-keys",
  ],
  state: [
    "remote-state-consumers",
    "resources",
    "state-version-outputs",
    "state-versions",
    "state-version-changes",
    "workspace-outputs",
  ],
  runs: [
    "phases",
    "agents",
    "run-events",
    "configuration-versions",
    "runs",
    "run-triggers",
    "plan-outputs",
    "assessment-results",
    "auto-destroy",
    "identity-keys",
    "agent-jobs",
    "run-streams",
  ],
  vcs: ["triggers", "providers", "fetching", "vcs-events", "commit-statuses", "repositories", "webhooks"],
};

/** The imports that run upward nevertheless. Nothing imports an `operations.ts`, so what it imports closes no circle. */
const upward: Record<string, string> = {
  "identity/admin-organizations/operations.ts → organizations": "site admins change and delete rows of organizations",
  "identity/authentication-tokens/operations.ts → users":
    "a user's tokens are managed by what the caller may do to the user",
  "identity/invitations/operations.ts → organization-memberships": "an accepted invitation becomes a membership",
  "identity/teams/operations.ts → invitations": "invited people who join a team lose the links of others",
  "identity/teams/operations.ts → organization-memberships": "memberships show the teams of their people",
  "identity/users/operations.ts → organization-memberships":
    "memberships follow a user's address, and end with the user",
  "identity/users/writes.ts → organization-memberships": "a new user takes up the invitations to the same address",
  "register/tag-bindings/operations.ts → projects":
    "a project's tags are read and changed by what the caller holds on it",
  "register/tag-bindings/operations.ts → workspaces": "a workspace's tags likewise",
  "register/workspaces/operations.ts → tags": "a workspace is created with tags, and releases them when it is deleted",
  "connections/oauth-clients/operations.ts → oauth-tokens": "a client is created with its token",
  "state/state-version-outputs/operations.ts → state-versions":
    "outputs are read by what the caller holds on their version",
  "runs/configuration-versions/upload.ts → runs": "an upload queues the run that it asked for, in its transaction",
  "runs/run-events/operations.ts → runs": "a comment is added to a run by its life cycle",
  "runs/runs/lifecycle.ts → run-triggers": "an apply leaves a note for the job that starts what follows it",
  "vcs/vcs-events/starting.ts → commit-statuses": "a started run reports to its commit",
};

interface Import {
  from: string;
  to: string;
}

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.split(sep).join("/"));

const imports: Import[] = files.flatMap((from) =>
  [...readFileSync(join("src", from), "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map((match) => ({
    from,
    to: match[1]!.startsWith(".") ? normalize(join(dirname(from), match[1]!)) : match[1]!,
  })),
);

const inside = imports.filter(({ to }) => to.endsWith(".ts"));

/** `resources/register/projects/store.ts` → `resources/register`; `http/mount.ts` → `http`; `main.ts` → `main.ts` */
function roomOf(file: string): string {
  const parts = file.split("/");
  return parts[0] === "resources" ? parts.slice(0, 2).join("/") : parts[0]!;
}

/** `resources/register/projects/store.ts` → `register`, `projects`; undefined for what is in no folder of a room. */
function folderOf(file: string): [room: string, folder: string] | undefined {
  const [top, room = "", folder = ""] = file.split("/");
  return top === "resources" && room !== "shared" && folder !== "" && !folder.endsWith(".ts")
    ? [room, folder]
    : undefined;
}

/** `resources/register/projects/store.ts` → `resources/register/projects` */
const resourceOf = (file: string) => file.split("/").slice(0, 3).join("/");

function mayImport(from: string, to: string): boolean {
  const [here, there] = [roomOf(from), roomOf(to)];
  return (
    here === there ||
    (below[here] ?? []).some((room) => room === there || (room.endsWith("*") && there.startsWith(room.slice(0, -1))))
  );
}

const told = ({ from, to }: Import) => `${from} → ${to}`;

describe("the house", () => {
  it("has a place in the table for every room", () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !(room in below))).toEqual([]);
  });

  it("imports run one way, from room to room", () => {
    expect(
      inside
        .filter(({ from, to }) => !mayImport(from, to))
        .map(told)
        .sort(),
    ).toEqual([]);
  });

  it("has a place in its room for every folder", () => {
    const found = new Set(files.flatMap((file) => folderOf(file)?.join("/") ?? []));
    const known = Object.entries(folders).flatMap(([room, names]) => names.map((name) => `${room}/${name}`));
    const missing = [...found].filter((folder) => !known.includes(folder));
    expect(missing, "add these to `folders` at the top of this file, after the folders that they import").toEqual([]);
  });

  it("imports run one way, from folder to folder of a room, but for a named few", () => {
    const found = inside.flatMap(({ from, to }) => {
      const [[room, here], [other, there]] = [folderOf(from) ?? [], folderOf(to) ?? []];
      if (room === undefined || here === undefined || there === undefined || room !== other) return [];
      const order = folders[room] ?? [];
      return order.indexOf(here) < order.indexOf(there) ? [`${from.slice("resources/".length)} → ${there}`] : [];
    });
    expect([...new Set(found)].sort()).toEqual(Object.keys(upward).sort());
  });

  it("only the life cycle, and history that is imported, write runs and their phases", () => {
    const writers = inside.filter(({ to }) => to === "resources/runs/runs/transaction.ts").map(({ from }) => from);
    expect(writers.toSorted()).toEqual([
      "resources/runs/run-events/operations.ts",
      "resources/runs/run-triggers/firing.ts",
      "resources/runs/runs/history.ts",
      "resources/runs/runs/lifecycle.ts",
    ]);
  });

  it("a resource's operations and store are its own: others ask its reads and writes", () => {
    const strangers = inside.filter(
      ({ from, to }) =>
        /^resources\/[^/]+\/[^/]+\/(.*\/)?(operations|store)\.ts$/.test(to) &&
        resourceOf(from) !== resourceOf(to) &&
        from !== "resources/index.ts",
    );
    expect(strangers.map(told)).toEqual([]);
  });

  it("only database/engines knows drivers", () => {
    const drivers = imports.filter(
      ({ from, to }) => ["pg", "node:sqlite"].includes(to) && !from.startsWith("database/engines/"),
    );
    expect(drivers.map(told)).toEqual([]);
  });
});

// ---- the console ----

const kit = ["ui", "now.ts"];
const shared = ["api", "components", ...kit, "paths.ts"];

/** Each part of the console, and the parts that it may import. Files of one part may import each other. */
const consoleBelow: Record<string, readonly string[]> = {
  "now.ts": [],
  "paths.ts": [],
  ui: ["now.ts"],
  api: ["now.ts", "paths.ts"],
  components: ["api", ...kit, "paths.ts"],
  access: shared,
  deliveries: shared,
  pages: [...shared, "access", "deliveries"],
};

/** The folders of pages that others show a part of: frames, tables of tokens, statuses of runs. */
const lentPages = ["agent-pools", "audit", "projects", "runs", "teams", "tokens", "workspace"];
/** And those that lend to one folder only. */
const lentTo: readonly string[] = [
  "reach → people",
  "variable-sets → variables",
  "workspace → first-start",
  "workspace → repository",
  "workspace → states",
  "workspace → workspaces",
  "workspaces → move",
];

/** Pages that need nothing but what their parent route loads, or whose query depends on the clock or on what is typed. */
const withoutQueries = [
  "inside ~/authorize",
  "inside ~/new-organization",
  "inOrganization audit",
  "inOrganization grant",
  "inProject audit",
  "inTeam /",
  "inTeam settings",
  "inPerson /",
  "inWorkspace audit",
  "inWorkspace start",
  "inWorkspace settings",
];

describe("the console", () => {
  const consoleFiles = readdirSync("console", { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".gen.ts"))
    .map((file) => file.split(sep).join("/"));
  const textOf = (file: string) => readFileSync(join("console", file), "utf8");
  const partOf = (file: string) => file.split("/")[0]!;
  const pageOf = (file: string) => (/^pages\/[^/]+\//.test(file) ? file.split("/")[1] : undefined);
  const links = consoleFiles.flatMap((from) =>
    [...textOf(from).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map((match) => ({
      from,
      to: normalize(join(dirname(from), match[1]!)),
    })),
  );

  it("imports run one way: the kit knows nothing of the API, and the API nothing of what shows it", () => {
    const upward = links.filter(
      ({ from, to }) =>
        partOf(from) in consoleBelow &&
        partOf(from) !== partOf(to) &&
        !consoleBelow[partOf(from)]!.includes(partOf(to)) &&
        // The state of a page is in its address, and the kit reads and writes it.
        `${from} → ${to}` !== "ui/address.ts → paths.ts",
    );
    expect(upward.map(told)).toEqual([]);
  });

  it("pages show parts of a few other pages only", () => {
    const pairs = links.flatMap(({ from, to }) => {
      const [here, there] = [pageOf(from), pageOf(to)];
      return here !== undefined && there !== undefined && here !== there ? [[here, there] as const] : [];
    });
    const others = pairs.filter(([, there]) => !lentPages.includes(there)).map((pair) => pair.join(" → "));
    expect([...new Set(others)].sort()).toEqual(lentTo);
    expect(lentPages.filter((page) => !pairs.some(([, there]) => there === page))).toEqual([]);
  });

  it("a page's queries start with its code", () => {
    const bare =
      /\bpage\(\s*(\w+),\s*"([^"]+)",\s*\(\) =>\s*import\("[^"]+"\)(?:\.then\(\(.*?\) => \(.*?\)\))?,?\s*\)/g;
    const routes = `${textOf("routes.ts")}${textOf("organization-routes.ts")}`;
    expect([...routes.matchAll(bare)].map(([, parent, path]) => `${parent} ${path}`)).toEqual(withoutQueries);
  });

  it("the queries of a page for site admins start for them alone", () => {
    const ofSite = textOf("routes.ts")
      .split(/\bpage\(/)
      .filter((text) => /^\s*inside,\s*"~\/site\b/.test(text));
    expect(ofSite.length).toBeGreaterThan(6);
    expect(ofSite.filter((text) => !text.includes("forSiteAdmin("))).toEqual([]);
  });

  it("parameters of routes and bodies of requests are typed, not forced", () => {
    const forced = consoleFiles.filter((file) => /strict: false|as never\b/.test(textOf(file)));
    expect(forced).toEqual([]);
  });
});
