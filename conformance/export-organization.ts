/** Creates an organization with every resource that the official provider supports. */
import { type Api, dataOf } from "./api.ts";

export const organization = "acme";

const of = (rest: string) => `/organizations/${organization}${rest}`;
const one = (type: string, id: string) => ({ data: { type, id } });
const many = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) });
const tagged = (pairs: Record<string, string>) => ({
  data: Object.entries(pairs).map(([key, value]) => ({ type: "tag-bindings", attributes: { key, value } })),
});
const record = (access: object, team: string, place: object) =>
  [access, { team: one("teams", team), ...place }] as const;

function makerOf(api: Api) {
  const send = async (path: string, data: object, method?: string) => dataOf(await api(path, { data }, method));
  return {
    api,
    make: async (path: string, type: string, attributes: object, relationships: object = {}): Promise<string> =>
      (await send(path, { type, attributes, relationships }))?.id,
    change: async (path: string, type: string, attributes: object, relationships: object = {}): Promise<void> => {
      await send(path, { type, attributes, relationships }, "PATCH");
    },
  };
}
type Maker = ReturnType<typeof makerOf>;

export async function makeOrganization(api: Api): Promise<void> {
  const maker = makerOf(api);
  const places = await peopleAndProjects(maker);
  await variables(maker, { ...places, ...(await workspaces(maker, places)) });
}

async function peopleAndProjects({ make }: Maker) {
  await make("/organizations", "organizations", {
    name: organization,
    email: "ops@acme.example",
    "session-timeout": 60,
  });
  const pool = await make(of("/agent-pools"), "agent-pools", { name: "builders" });
  await make(of("/agent-pools"), "agent-pools", { name: "everybody" });
  const key = await make(of("/ssh-keys"), "ssh-keys", { name: "modules", value: "a key" });
  await make(of("/reserved-tag-keys"), "reserved-tag-keys", { key: "cost" });
  const ops = await make(of("/teams"), "teams", {
    name: "ops",
    visibility: "organization",
    "organization-access": { "read-workspaces": true, "read-projects": true },
  });
  const silent = await make(of("/teams"), "teams", { name: "silent/ones" });
  const teams = { teams: many("teams", ops, silent) };
  await make(of("/organization-memberships"), "organization-memberships", { email: "grace@acme.example" }, teams);
  const network = await make(
    of("/projects"),
    "projects",
    { name: "Network", description: 'With "quotes", ${braces} and %{signs}', "auto-destroy-activity-duration": "14d" },
    { "tag-bindings": tagged({ cost: "shared" }) },
  );
  const local = await make(of("/projects"), "projects", { name: "1 local", "default-execution-mode": "local" });
  const record = (access: object, team: string, place: object) =>
    [access, { team: one("teams", team), ...place }] as const;
  await make(
    "/team-projects",
    "team-projects",
    ...record({ access: "maintain" }, silent, { project: one("projects", local) }),
  );
  const custom = {
    access: "custom",
    "project-access": { settings: "update" },
    "workspace-access": { runs: "apply", move: true },
  };
  await make("/team-projects", "team-projects", ...record(custom, ops, { project: one("projects", network) }));
  return { pool, key, ops, silent, network, local };
}

type Places = Awaited<ReturnType<typeof peopleAndProjects>>;

async function workspaces({ api, make, change }: Maker, { pool, key, ops, silent, network, local }: Places) {
  const backbone = await make(
    of("/workspaces"),
    "workspaces",
    {
      name: "backbone",
      description: "All of it",
      "auto-apply": true,
      "execution-mode": "agent",
      "agent-pool-id": pool,
      "terraform-version": "~> 1.5.0",
      "working-directory": "live",
      "trigger-prefixes": ["modules/"],
      "queue-all-runs": true,
      "speculative-enabled": false,
      "auto-destroy-activity-duration": "3d",
      "source-name": "a generator",
    },
    {
      project: one("projects", network),
      "tag-bindings": tagged({ env: "prod" }),
      tags: { data: [{ type: "tags", attributes: { name: "core" } }] },
    },
  );
  const shop = await make(of("/workspaces"), "workspaces", { name: "shop" }, { project: one("projects", local) });
  await make(of("/workspaces"), "workspaces", {
    name: "open",
    "global-remote-state": true,
    "execution-mode": "remote",
  });
  await change(`/workspaces/${backbone}/relationships/ssh-key`, "workspaces", { id: key });
  dataOf(await api(`/workspaces/${backbone}/relationships/remote-state-consumers`, many("workspaces", shop)));
  await make(`/workspaces/${shop}/run-triggers`, "run-triggers", {}, { sourceable: one("workspaces", backbone) });
  const policy = { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": 90 } };
  dataOf(await api(`/workspaces/${shop}/relationships/data-retention-policy`, { data: policy }));
  await make(
    "/team-workspaces",
    "team-workspaces",
    ...record({ access: "plan" }, ops, { workspace: one("workspaces", shop) }),
  );
  const chosen = { access: "custom", runs: "plan", "state-versions": "read-outputs", "workspace-locking": true };
  await make(
    "/team-workspaces",
    "team-workspaces",
    ...record(chosen, silent, { workspace: one("workspaces", backbone) }),
  );
  return { backbone, shop };
}

type Filled = Places & Awaited<ReturnType<typeof workspaces>>;

async function variables({ make, change }: Maker, { pool, network, local, backbone, shop }: Filled): Promise<void> {
  const variable = (attributes: object) => ({ category: "terraform", ...attributes });
  await make(
    `/workspaces/${shop}/vars`,
    "vars",
    variable({ key: "sizes", value: '["s"]', hcl: true, description: "Which" }),
  );
  await make(`/workspaces/${shop}/vars`, "vars", variable({ key: "text", value: "two\nlines and ${a.b}" }));
  await make(
    `/workspaces/${shop}/vars`,
    "vars",
    variable({ key: "SECRET", value: "s3cr3t", category: "env", sensitive: true }),
  );
  const set = await make(
    of("/varsets"),
    "varsets",
    { name: "Cloud accounts", description: "Who pays", priority: true },
    { workspaces: many("workspaces", backbone), projects: many("projects", local) },
  );
  await make(`/varsets/${set}/relationships/vars`, "vars", variable({ key: "account", value: "1" }));
  await make(`/varsets/${set}/relationships/vars`, "vars", variable({ key: "token", value: "x", sensitive: true }));
  await make(of("/varsets"), "varsets", { name: "Everywhere", global: true });
  await make(of("/varsets"), "varsets", { name: "Of one project" }, { parent: one("projects", network) });
  await change(
    `/agent-pools/${pool}`,
    "agent-pools",
    { "organization-scoped": false },
    { "allowed-projects": many("projects", network) },
  );
}
