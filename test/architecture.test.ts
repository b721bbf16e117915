/** The architecture: tables of which module may import which, compared with the code's imports. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { describe, expect, it } from "vitest";

const base = ["kernel", "statefile", "access", "jsonapi", "database"];
const lowLevel = ["shared", "identity", "site", "register"].map((module) => `resources/${module}`);

/** Governance and runs don't import each other. */
const midLevel = ["sharing", "variables", "connections", "state"].map((module) => `resources/${module}`);

/** Each module and the modules below it, which are all that it may import. Files of one module may import each other. */
const below: Record<string, readonly string[]> = {
  kernel: [],
  statefile: ["kernel"],
  archive: ["kernel"],
  outgoing: ["kernel"],
  "object-store": ["kernel"],
  sandbox: ["kernel"],
  agent: ["kernel", "archive", "outgoing", "sandbox", "statefile", "version.ts"],
  access: ["kernel"],
  jsonapi: ["kernel"],
  database: ["kernel"],
  backup: ["kernel", "database"],
  "resources/shared": [...base, "outgoing", "object-store"],
  "resources/identity": [...base, "outgoing", ...lowLevel.slice(0, 1)],
  "resources/site": [...base, ...lowLevel.slice(0, 2)],
  "resources/register": [...base, ...lowLevel.slice(0, 3)],
  "resources/sharing": [...base, ...lowLevel],
  "resources/variables": [...base, ...lowLevel],
  "resources/connections": [...base, "outgoing", ...lowLevel],
  "resources/state": [...base, ...lowLevel],
  "resources/governance": [...base, ...lowLevel, ...midLevel],
  "resources/runs": [...base, "archive", ...lowLevel, ...midLevel],
  "resources/vcs": [...base, "archive", "outgoing", "sandbox", ...lowLevel, ...midLevel, "resources/runs"],
  "resources/index.ts": [...base, "resources/*"],
  jobs: [...base, "backup", "resources/*"],
  http: [...base, "backup", "resources/*", "version.ts"],
  moving: [...base, "resources/*", "version.ts"],
  "version.ts": [],
  "settings.ts": ["kernel", "agent", "object-store", "version.ts"],
  "service.ts": [...base, "object-store", "resources/*", "settings.ts"],
  "workers.ts": ["kernel", "database", "agent", "resources/*", "settings.ts", "service.ts"],
  "console.ts": [],
  "contents.ts": ["kernel", "database", "object-store", "resources/*", "settings.ts"],
  "announcement.ts": ["kernel", "http", "settings.ts", "service.ts", "version.ts"],
  "tls.ts": ["kernel"],
  "main.ts": ["*"],
  cli: ["*"],
};

/** The folders of each module, lowest first: a folder may import those before it. */
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
  governance: ["access-rules", "access-violations", "access-requests", "access-offers"],
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
    "agent-pool-queues",
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

/** The exceptions. Nothing imports an `operations.ts`, so its imports cause no cycle. */
const upwardImports: Record<string, string> = {
  "identity/admin-organizations/operations.ts → organizations": "site admins change and delete rows of organizations",
  "identity/authentication-tokens/operations.ts → users": "access to a user's tokens follows from access to the user",
  "identity/invitations/operations.ts → organization-memberships": "an accepted invitation becomes a membership",
  "identity/teams/operations.ts → invitations": "adding invited people to a team revokes invitations by other users",
  "identity/teams/operations.ts → organization-memberships": "memberships show the teams of their users",
  "identity/users/operations.ts → organization-memberships":
    "memberships follow a user's address, and end with the user",
  "identity/users/writes.ts → organization-memberships": "a new user accepts the invitations to the same address",
  "register/tag-bindings/operations.ts → projects": "access to a project's tags follows from access to the project",
  "register/tag-bindings/operations.ts → workspaces":
    "access to a workspace's tags follows from access to the workspace",
  "register/workspaces/operations.ts → tags": "a workspace is created with tags, and releases them when it is deleted",
  "connections/oauth-clients/operations.ts → oauth-tokens": "a client is created with its token",
  "state/state-version-outputs/operations.ts → state-versions":
    "access to outputs follows from access to their state version",
  "runs/configuration-versions/upload.ts → runs": "an upload queues its run in the same transaction",
  "runs/run-events/operations.ts → runs": "adding a comment is part of a run's life cycle",
  "runs/runs/lifecycle.ts → run-triggers": "an apply records the run triggers that a job then starts",
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
function moduleOf(file: string): string {
  const parts = file.split("/");
  return parts[0] === "resources" ? parts.slice(0, 2).join("/") : parts[0]!;
}

/** `resources/register/projects/store.ts` → `register`, `projects`; undefined for a file that is in no folder of a module. */
function folderOf(file: string): [module: string, folder: string] | undefined {
  const [top, module = "", folder = ""] = file.split("/");
  return top === "resources" && module !== "shared" && folder !== "" && !folder.endsWith(".ts")
    ? [module, folder]
    : undefined;
}

/** `resources/register/projects/store.ts` → `resources/register/projects` */
const resourceOf = (file: string) => file.split("/").slice(0, 3).join("/");

function mayImport(from: string, to: string): boolean {
  const [here, there] = [moduleOf(from), moduleOf(to)];
  return (
    here === there ||
    (below[here] ?? []).some(
      (module) => module === there || (module.endsWith("*") && there.startsWith(module.slice(0, -1))),
    )
  );
}

const arrow = ({ from, to }: Import) => `${from} → ${to}`;

describe("the architecture", () => {
  it("lists every module in the table", () => {
    expect([...new Set(files.map(moduleOf))].filter((module) => !(module in below))).toEqual([]);
  });

  it("allows imports in one direction between modules", () => {
    expect(
      inside
        .filter(({ from, to }) => !mayImport(from, to))
        .map(arrow)
        .sort(),
    ).toEqual([]);
  });

  it("lists every folder of a module", () => {
    const found = new Set(files.flatMap((file) => folderOf(file)?.join("/") ?? []));
    const known = Object.entries(folders).flatMap(([module, names]) => names.map((name) => `${module}/${name}`));
    const missing = [...found].filter((folder) => !known.includes(folder));
    expect(missing, "add these to `folders` at the top of this file, after the folders that they import").toEqual([]);
  });

  it("allows imports in one direction between a module's folders, with listed exceptions", () => {
    const found = inside.flatMap(({ from, to }) => {
      const [[module, here], [other, there]] = [folderOf(from) ?? [], folderOf(to) ?? []];
      if (module === undefined || here === undefined || there === undefined || module !== other) return [];
      const order = folders[module] ?? [];
      return order.indexOf(here) < order.indexOf(there) ? [`${from.slice("resources/".length)} → ${there}`] : [];
    });
    expect([...new Set(found)].sort()).toEqual(Object.keys(upwardImports).sort());
  });

  it("allows only the life cycle and the import of history to write runs and phases", () => {
    const writers = inside
      .filter(({ to }) => to === "resources/runs/runs/transition-recorder.ts")
      .map(({ from }) => from);
    expect(writers.toSorted()).toEqual([
      "resources/runs/run-events/operations.ts",
      "resources/runs/run-triggers/firing.ts",
      "resources/runs/runs/history.ts",
      "resources/runs/runs/lifecycle.ts",
    ]);
  });

  it("keeps a resource's operations and store private: others use its reads and writes", () => {
    const foreignImports = inside.filter(
      ({ from, to }) =>
        /^resources\/[^/]+\/[^/]+\/(.*\/)?(operations|store)\.ts$/.test(to) &&
        resourceOf(from) !== resourceOf(to) &&
        from !== "resources/index.ts",
    );
    expect(foreignImports.map(arrow)).toEqual([]);
  });

  it("allows drivers in database/engines only", () => {
    const drivers = imports.filter(
      ({ from, to }) =>
        ["pg", "node:sqlite"].includes(to) &&
        !from.startsWith("database/engines/") &&
        // Locks on empty files, without data.
        from !== "agent/fetching/locks.ts",
    );
    expect(drivers.map(arrow)).toEqual([]);
  });

  it("allows the object store's SDK in one file only", () => {
    const sdk = imports.filter(({ from, to }) => /^@(aws-sdk|smithy)\//.test(to) && from !== "object-store/s3.ts");
    expect(sdk.map(arrow)).toEqual([]);
  });
});

// ---- the console ----

const kit = ["ui", "now.ts"];
const shared = ["api", "components", ...kit, "paths.ts"];

/** Each part of the console and the parts that it may import. Files of one part may import each other. */
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

/** Pages whose components other pages use: frames, tables of tokens, statuses of runs. */
const sharedPages = ["agent-pools", "audit", "projects", "runs", "teams", "tokens", "workspace"];
/** Pages whose components one other page uses. */
const sharedWithOne: readonly string[] = [
  "reach → people",
  "variable-sets → variables",
  "workspace → first-start",
  "workspace → repository",
  "workspace → states",
  "workspace → workspaces",
  "workspaces → move",
];

/** Pages that need only their parent route's data, or whose query depends on the clock or on input. */
const withoutQueries = [
  "inside ~/authorize",
  "inside ~/new-organization",
  "inOrganization audit",
  "inProject audit",
  "inTeam /",
  "inTeam settings",
  "inPerson /",
  "inWorkspace audit",
  "inWorkspace start",
  "inWorkspace settings",
  "inOrganization grant",
  "inOrganization access-requests/new",
  "inOrganization offers/new",
  "inOrganization rules/new",
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

  it("allows imports in one direction: the kit does not know the API, and the API does not know the pages", () => {
    const upward = links.filter(
      ({ from, to }) =>
        partOf(from) in consoleBelow &&
        partOf(from) !== partOf(to) &&
        !consoleBelow[partOf(from)]!.includes(partOf(to)) &&
        // The state of a page is in its address, and the kit reads and writes it.
        `${from} → ${to}` !== "ui/address.ts → paths.ts",
    );
    expect(upward.map(arrow)).toEqual([]);
  });

  it("allows a few pages to share components", () => {
    const pairs = links.flatMap(({ from, to }) => {
      const [here, there] = [pageOf(from), pageOf(to)];
      return here !== undefined && there !== undefined && here !== there ? [[here, there] as const] : [];
    });
    const others = pairs.filter(([, there]) => !sharedPages.includes(there)).map((pair) => pair.join(" → "));
    expect([...new Set(others)].sort()).toEqual(sharedWithOne);
    expect(sharedPages.filter((page) => !pairs.some(([, there]) => there === page))).toEqual([]);
  });

  it("starts a page's queries with its code", () => {
    const bare =
      /\bpage\(\s*(\w+),\s*"([^"]+)",\s*\(\) =>\s*import\("[^"]+"\)(?:\.then\(\(.*?\) => \(.*?\)\))?,?\s*\)/g;
    const routes = `${textOf("routes.ts")}${textOf("organization-routes.ts")}${textOf("access-routes.ts")}`;
    expect([...routes.matchAll(bare)].map(([, parent, path]) => `${parent} ${path}`)).toEqual(withoutQueries);
  });

  it("starts the queries of site admin pages for site admins only", () => {
    const ofSite = textOf("routes.ts")
      .split(/\bpage\(/)
      .filter((text) => /^\s*inside,\s*"~\/site\b/.test(text));
    expect(ofSite.length).toBeGreaterThan(6);
    expect(ofSite.filter((text) => !text.includes("forSiteAdmin("))).toEqual([]);
  });

  it("has no casts of route parameters and request bodies", () => {
    const forced = consoleFiles.filter((file) => /strict: false|as never\b/.test(textOf(file)));
    expect(forced).toEqual([]);
  });
});
