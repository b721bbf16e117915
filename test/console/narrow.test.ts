/** Names and messages of the maximum length, without spaces: no page scrolls sideways, and a name keeps its distinctive end. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, makeTeamToken, resource } from "../support/builders.ts";
import { makeConfiguration, makeRun } from "../support/runs.ts";
import { grantOn, seatIn, teamsNamed } from "../support/offers.ts";
import { useConsole } from "./support/browser.ts";
import { type ObservedVisitor, settle, observe } from "./support/rendering.ts";

const console = useConsole();

/** `length` characters with a distinctive end. */
const long = (length: number, end: string): string => `${"x".repeat(length - end.length)}${end}`;
const organization = long(40, "-acme");
const workspace = long(90, "-production");
const ids: Record<string, string> = { organization, workspace };
const siteIds: Record<string, string> = {};
const inOrganization = `/organizations/${organization}`;

async function make(path: string, type: string, attributes: object, relationships?: object): Promise<Json> {
  return data(await console.api.admin.post(path, resource(type, attributes, relationships)));
}

async function requestAccess(
  userId: string,
  { team, workspace, text }: { readonly team: string; readonly workspace: string; readonly text: string },
): Promise<string> {
  const { admin, as } = console.api;
  const requester = as(data(await admin.post(`/users/${userId}/authentication-tokens`)).attributes.token);
  const relationships = {
    team: { data: { type: "teams", id: team } },
    workspace: { data: { type: "workspaces", id: workspace } },
  };
  const grant = { type: "team-workspaces", attributes: { access: "admin", reason: text }, relationships };
  const attributes = { changes: [{ method: "POST", path: "/team-workspaces", body: { data: grant } }], reason: text };
  const path = `${inOrganization}/access-requests`;
  return data(await requester.post(path, resource("access-requests", attributes))).id;
}

beforeAll(async () => {
  const { api } = console;
  await make("/organizations", "organizations", {
    name: organization,
    email: `${long(60, "z")}@acme.example`,
  });
  const text = long(200, "end");
  const project = await make(`${inOrganization}/projects`, "projects", {
    name: long(40, "-project"),
    description: text,
  });
  const within = { project: { data: { type: "projects", id: project.id } } };
  const space = await make(
    `${inOrganization}/workspaces`,
    "workspaces",
    { name: workspace, description: text, "execution-mode": "remote" },
    within,
  );
  const team = await make(`${inOrganization}/teams`, "teams", { name: long(80, "-team"), visibility: "organization" });
  await make(
    "/team-projects",
    "team-projects",
    { access: "write", reason: text },
    { ...within, team: { data: { type: "teams", id: team.id } } },
  );
  const username = long(60, "-person");
  const user = await make("/admin/users", "users", { username, email: `${long(60, "y")}@acme.example` });
  await make(
    `${inOrganization}/organization-memberships`,
    "organization-memberships",
    { email: user.attributes.email },
    { teams: { data: [{ type: "teams", id: team.id }] } },
  );
  const invited = await make(`${inOrganization}/organization-memberships`, "organization-memberships", {
    email: `${long(60, "w")}@acme.example`,
  });
  const set = await make(`${inOrganization}/varsets`, "varsets", {
    name: long(90, "-set"),
    description: text,
    global: true,
  });
  await make(`/varsets/${set.id}/relationships/vars`, "vars", { key: long(120, "_KEY"), value: text, category: "env" });
  await make(`/workspaces/${space.id}/vars`, "vars", {
    key: long(120, "_KEY"),
    value: text,
    category: "env",
    description: text,
  });
  const pool = await make(`${inOrganization}/agent-pools`, "agent-pools", { name: long(90, "-pool") });
  const sitePool = await make("/admin/agent-pools", "agent-pools", { name: long(90, "-pool") });
  await make(`/agent-pools/${pool.id}/authentication-tokens`, "authentication-tokens", { description: text });
  await makeTeamToken(api, team.id);
  const [token] = data(await api.admin.get(`${inOrganization}/team-tokens`)) as Json[];
  await make(`${inOrganization}/ssh-keys`, "ssh-keys", {
    name: long(90, "-key"),
    value: "-----BEGIN OPENSSH PRIVATE KEY-----",
  });
  expect((await api.admin.post(`/workspaces/${space.id}/actions/lock`, { reason: text })).status).toBe(200);
  await makeConfiguration(api, space.id);
  const run = await makeRun(api.admin, space.id, { message: text });
  const request = await requestAccess(user.id, { team: team.id, workspace: space.id, text });
  const tag = { data: [{ type: "tags", attributes: { name: long(200, ":tag") } }] };
  expect((await api.admin.post(`/workspaces/${space.id}/relationships/tags`, tag)).status).toBe(204);
  const hook = {
    name: long(90, "-hook"),
    url: `https://siem.example/${text}`,
    events: ["access.changed"],
    enabled: false,
  };
  await make(`${inOrganization}/audit-webhooks`, "audit-webhooks", hook);
  const notice = {
    name: long(90, "-told"),
    "destination-type": "generic",
    url: `https://chat.example/${text}`,
    enabled: false,
  };
  await make(`/workspaces/${space.id}/notification-configurations`, "notification-configurations", notice);
  const changes = [seatIn(team.id), grantOn(project.id, team.id)];
  const offered = { name: long(90, "-offer"), description: text, changes, "duration-seconds-max": 3600 };
  const offer = await make(`${inOrganization}/access-offers`, "access-offers", offered, {
    "eligible-teams": teamsNamed(team.id),
  });
  const policy = `@message("${text}") forbid (principal, action, resource) when { context has reason };`;
  const ruled = { name: long(90, "-rule"), description: text, policy, enforcement: "forbid", enabled: false };
  const rule = await make(`${inOrganization}/access-rules`, "access-rules", ruled);
  Object.assign(ids, {
    project: project.id,
    team: team.id,
    user: user.id,
    set: set.id,
    pool: pool.id,
    token: token.id,
    run: run.id,
    request,
    offer: offer.id,
    rule: rule.id,
    secret: /cadastre-([^/]+)$/.exec(invited.attributes["invitation-url"])?.[1],
  });
  siteIds["pool"] = sitePool.id;
});

/** Every page except those of a state, which has no long text. */
const source = ["routes.ts", "organization-routes.ts", "access-routes.ts"]
  .map((name) => readFileSync(new URL(`../../console/${name}`, import.meta.url), "utf8"))
  .join("");
const under: Record<string, string> = {
  outside: "",
  inside: "",
  inOrganization: "/$organization",
  inProject: "/$organization/projects/$project",
  inTeam: "/$organization/teams/$team",
  inPerson: "/$organization/people/$user",
  inWorkspace: "/$organization/workspaces/$workspace",
};
const pages = [...source.matchAll(/\bpage\(\s*(\w+),\s*"([^"]+)"/g)]
  .map(([, parent = "", path = ""]) => `${under[parent]}/${path === "/" ? "" : path}`)
  .filter((path) => !/\$state|sign-in|invitations|authorize/.test(path))
  .concat(
    "/$organization/grant?team=$team&project=$project",
    "/$organization/access-requests?show=all",
    "/$organization/workspaces/$workspace/access?who=people",
  );

const addressOf = (path: string) =>
  path.replaceAll(/\{?\$(\w+)\}?/g, (_, name: string) =>
    encodeURIComponent((path.startsWith("/~/site/") ? siteIds[name] : undefined) ?? ids[name] ?? `no-${name}`),
  );

const desk = { width: 1280, height: 800 };
const phone = { width: 390, height: 780 };
let observed: Promise<ObservedVisitor> | undefined;

const tooWide = `(() => {
  const { scrollWidth } = document.documentElement;
  if (scrollWidth <= innerWidth) return "";
  const isCut = (each) => each !== null && (getComputedStyle(each).overflowX !== "visible" || isCut(each.parentElement));
  const isOver = (each) => each.getBoundingClientRect().right > innerWidth + 1 || each.scrollWidth > each.clientWidth + 1;
  const over = [...document.querySelectorAll("main *")].filter((each) => each.clientWidth > 1 && isOver(each) && !isCut(each));
  return scrollWidth + " wide: " + over.slice(-3).map((each) => each.outerHTML.slice(0, 300)).join(" … ");
})()`;

test.each(pages)("%s does not scroll sideways", async (path) => {
  const { page, follow } = await (observed ??= observe(console, console.api.admin.token, {
    viewport: desk,
    reducedMotion: "reduce",
  }));
  await page.setViewportSize(desk);
  await follow(addressOf(path));
  expect(await page.evaluate(tooWide), "at 1280").toBe("");
  await page.setViewportSize(phone);
  await settle(page);
  expect(await page.evaluate(tooWide), "at 390").toBe("");
});

test("a long name keeps its end, and is complete for screen readers and on hover", async () => {
  const { page, go } = await console.visit(console.api.admin.token, { viewport: phone });
  await go(`/${organization}/workspaces`);
  const link = page.getByRole("link", { name: workspace });
  await link.waitFor();
  expect(await link.locator("[title]").getAttribute("title")).toBe(workspace);
  const end = link.getByText("-production", { exact: true });
  const box = await end.boundingBox();
  expect(box!.x + box!.width).toBeLessThanOrEqual(390);
});

test.each([
  ["behind", -600_000],
  ["ahead", 600_000],
])("a past event is not shown in the future, with a browser ten minutes %s", async (_, ms) => {
  const { page, go } = await console.visit(console.api.admin.token);
  await page.clock.setFixedTime(Date.now() + ms);
  await go(`/${organization}/runs`);
  await page.locator("time").first().waitFor();
  const times = await page.locator("time").allInnerTexts();
  expect(times.filter((time) => time.startsWith("in "))).toEqual([]);
  expect(times.some((time) => /just now|min\. ago/.test(time))).toBe(true);
});
