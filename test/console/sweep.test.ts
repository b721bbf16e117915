/**
 * Every page of the console, in light and in dark, on a desk and on a phone, as it is for somebody who may do everything. The pages are read
 * off `console/routes.tsx`, so that a new one is looked at from its first line; one whose address can't be filled in fails.
 */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { useConsole } from "./support/browser.ts";
import { judge, type Looker, seen, watchful } from "./support/looks.ts";
import { type Scene, setScene } from "./support/scene.ts";

const console = useConsole();
const workspace = "network-production";
/** What stands for each part of an address. */
const ids: Record<string, string> = { organization: "acme", workspace };
/** And on the pages of those who run the site. */
const siteIds: Record<string, string> = {};

async function make(path: string, type: string, attributes: object, relationships?: object): Promise<Json> {
  return data(await console.api.admin.post(path, resource(type, attributes, relationships)));
}

const inAcme = "/organizations/acme";

beforeAll(async () => {
  const scene = await setScene(console.api);
  const { admin } = console.api;
  const id = scene.workspaces[workspace];
  const [set] = data(await admin.get(`${inAcme}/varsets`)) as Json[];
  const [run] = data(await admin.get(`/workspaces/${id}/runs`)) as Json[];
  const people = data(await admin.get(`${inAcme}/organization-memberships?q=bo`)) as Json[];
  const [token] = data(await admin.get(`${inAcme}/team-tokens`)) as Json[];
  const invited = { email: "new@acme.example" };
  const membership = await make(`${inAcme}/organization-memberships`, "organization-memberships", invited);
  const variable = { key: "AWS_REGION", value: "eu-central-1", category: "env" };
  await make(`/varsets/${set.id}/relationships/vars`, "vars", variable);
  await make(`/workspaces/${id}/vars`, "vars", { ...variable, category: "terraform" });
  Object.assign(ids, {
    project: scene.projects["Network"],
    team: scene.teams["network-ops"],
    user: people[0].relationships.user.data.id,
    set: set.id,
    pool: await makePool(`${inAcme}/agent-pools`, "agent-pools"),
    token: token.id,
    state: scene.state,
    run: run.id,
    secret: /cadastre-([^/]+)$/.exec(membership.attributes["invitation-url"])?.[1],
  });
  siteIds["pool"] = await makePool("/admin/agent-pools", "admin/agent-pools");
  await makeConnections(scene);
  await makeTold(scene);
});

/** One with a token, so that none of its parts is empty. */
async function makePool(list: string, one: string): Promise<string> {
  const pool = await make(list, "agent-pools", { name: "cellar" });
  await make(`/${one}/${pool.id}/authentication-tokens`, "authentication-tokens", { description: "rack 7" });
  return pool.id;
}

async function makeConnections({ teams, projects }: Scene): Promise<void> {
  const team = { team: { data: { type: "teams", id: teams["network-ops"] } } };
  const claims = { repository: "acme/network" };
  const trust = { name: "pipelines", issuer: "https://ci.example", audience: "cadastre", claims };
  await make(`${inAcme}/identity-trusts`, "identity-trusts", trust, team);
  await make(`${inAcme}/ssh-keys`, "ssh-keys", { name: "modules", value: "-----BEGIN OPENSSH PRIVATE KEY-----" });
  const client = await make(`${inAcme}/oauth-clients`, "oauth-clients", {
    name: "GitHub of the platform team",
    "service-provider": "github",
    "api-url": "https://api.github.example",
    "http-url": "https://github.example",
    "oauth-token-string": "a token of the provider",
  });
  const repository = {
    identifier: "acme/firewalls",
    "oauth-token-id": client.relationships["oauth-tokens"].data[0].id,
  };
  const connected = { name: "firewalls", "vcs-repo": repository };
  await make(`${inAcme}/workspaces`, "workspaces", connected, {
    project: { data: { type: "projects", id: projects["Network"] } },
  });
}

/** Whom the outside hears from; by mail or turned off, so that nobody is asked. */
async function makeTold({ workspaces, projects, teams }: Scene): Promise<void> {
  const about = { name: "On call", "destination-type": "email", enabled: true };
  const mail = { ...about, "email-addresses": ["ops@acme.example"], triggers: ["run:errored"] };
  for (const place of [`workspaces/${workspaces[workspace]}`, `projects/${projects["Network"]}`])
    await make(`/${place}/notification-configurations`, "notification-configurations", mail);
  await make(`/teams/${teams["network-ops"]}/notification-configurations`, "notification-configurations", {
    ...about,
    "destination-type": "generic",
    url: "https://chat.example/hook",
    enabled: false,
  });
  const webhook = { name: "SIEM", url: "https://siem.example/x", events: ["access.changed"], enabled: false };
  await make(`${inAcme}/audit-webhooks`, "audit-webhooks", webhook);
  const tag = { data: [{ type: "tags", attributes: { name: "production" } }] };
  const tagged = await console.api.admin.post(`/workspaces/${workspaces[workspace]}/relationships/tags`, tag);
  expect(tagged.status).toBe(204);
}

// ---- which pages there are ----

/** What the places in `routes.tsx` that pages are put under stand for. */
const parents: Record<string, string> = {
  outside: "",
  inside: "",
  inOrganization: "/$organization",
  inWorkspace: "/$organization/workspaces/$workspace",
};

const source = readFileSync(new URL("../../console/routes.tsx", import.meta.url), "utf8");

interface Route {
  readonly path: string;
  readonly isOutside: boolean;
}

const routes: Route[] = [...source.matchAll(/\bpage\(\s*(\w+),\s*"([^"]+)"/g)].map(([, parent = "", path = ""]) => {
  const under = parents[parent];
  if (under === undefined) throw new Error(`the sweep does not know where ${parent} is: say so in \`parents\``);
  return { path: `${under}/${path === "/" ? "" : path}`, isOutside: parent === "outside" };
});

/** Parts of pages, and pages of which something is chosen. */
const more: Route[] = [
  ...["tags", "sharing", "triggers", "keeping", "delete"].map(
    (part) => `/$organization/workspaces/$workspace/settings?part=${part}`,
  ),
  "/$organization/grant?team=$team&project=$project",
  "/$organization/workspaces/$workspace/access?who=people",
  "/$organization/workspaces/$workspace/runs/$run?show=plan-log",
  "/$organization/workspaces/firewalls/repository",
].map((path) => ({ path, isOutside: false }));

function addressOf(path: string): string {
  const known = path.startsWith("/~/site/") ? { ...ids, ...siteIds } : ids;
  return path.replaceAll(/\{?\$(\w+)\}?/g, (_, name: string) => {
    const id = known[name];
    if (id === undefined)
      throw new Error(`the sweep has no $${name} to look at: make one, and put its id into \`ids\``);
    return encodeURIComponent(id);
  });
}

// ---- looking at them ----

const desk = { width: 1280, height: 800 };
const phone = { width: 375, height: 740 };
const schemes = ["light", "dark"] as const;
type Scheme = (typeof schemes)[number];

/** In light a page is loaded at a desk and then drawn on a phone; in dark it is the other way round. */
const sizes = { light: [desk, phone], dark: [phone, desk] } as const;

/** One for each scheme, who goes from page to page; others for those without a session. */
const lookers = new Map<string, Promise<Looker>>();

function lookerOf(colorScheme: Scheme, isOutside: boolean): Promise<Looker> {
  const key = `${colorScheme} ${isOutside}`;
  const token = isOutside ? undefined : console.api.admin.token;
  const looker =
    lookers.get(key) ??
    watchful(console, token, { viewport: sizes[colorScheme][0], colorScheme, reducedMotion: "reduce" });
  lookers.set(key, looker);
  return looker;
}

/** The name of each window, and which page has it. */
const titles = new Map<string, string>();

async function faultsOf(address: string, scheme: Scheme, { page, load, complaints }: Looker): Promise<string[]> {
  const [first, second] = sizes[scheme];
  const on = ({ width }: { readonly width: number }, some: readonly string[]) =>
    some.map((fault) => `${scheme}, ${width} wide: ${fault}`);
  complaints.length = 0;
  await page.setViewportSize(first);
  await load(address);
  const { shift, title } = await seen(page);
  const [place = ""] = address.split("?");
  const other = titles.get(title) ?? place;
  titles.set(title, other);
  const faults = [
    ...on(first, shift >= 0.1 ? [`things jump (${shift.toFixed(2)})`] : []),
    ...on(first, other === place ? [] : [`is called “${title}”, like ${other}`]),
    ...on(first, await judge(page, scheme)),
  ];
  await page.setViewportSize(second);
  faults.push(...on(second, await judge(page, scheme)), ...on(second, await unseenFocus(page)));
  return [...faults, ...on(first, complaints)];
}

/** Whatever the keyboard reaches looks another way when it is reached. */
async function unseenFocus(page: Page): Promise<string[]> {
  await page.keyboard.press("Tab");
  return (await page.evaluate(focusing)) as string[];
}

const focusing = `(() => {
  const traits = ["outlineStyle", "outlineWidth", "boxShadow", "borderTopColor", "backgroundColor", "opacity", "left"];
  const look = (element) => { const style = getComputedStyle(element); return traits.map((trait) => style[trait]).join() };
  const outside = (element, steps = 4) =>
    steps === 0 || element.parentElement === null ? [] : [element.parentElement, ...outside(element.parentElement, steps - 1)];
  const around = (element) =>
    [element, element.nextElementSibling, element.previousElementSibling, element.firstElementChild, ...outside(element)]
      .filter((each) => each !== null).map(look).join(";");
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
    .filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility());
  document.activeElement?.blur();
  const unseen = all.filter((each) => {
    const before = around(each);
    each.focus({ preventScroll: true });
    return document.activeElement === each && around(each) === before;
  });
  document.activeElement?.blur();
  return unseen.map((each) => "the focus can't be seen on " + each.outerHTML.slice(0, 200));
})()`;

test("every page has an address in the sweep", () => {
  expect(routes.length).toBe([...source.matchAll(/import\("\.\/pages\//g)].length);
  expect(routes.length).toBeGreaterThan(60);
  for (const { path } of [...routes, ...more]) expect(addressOf(path)).not.toContain("$");
});

test.each([...routes, ...more])("$path is whole, calm and within reach", async ({ path, isOutside }) => {
  const look = async (scheme: Scheme) => faultsOf(addressOf(path), scheme, await lookerOf(scheme, isOutside));
  expect((await Promise.all(schemes.map(look))).flat()).toEqual([]);
});
