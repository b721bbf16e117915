/** Random sequences of changes of rules and of access, direct and by approved requests: a change is refused if, and only if, a rule that was committed before it refuses it. */
import { expect, it } from "vitest";
import { data, onProject, resource, unique } from "../../../support/builders.ts";
import { useApi, type Json } from "../../../support/api.ts";
import { deep, seed } from "../../../support/depth.ts";

const api = useApi();
const levels = ["read", "write", "maintain", "admin"] as const;
const enforcements = ["forbid", "approval", "advise"] as const;

/** Xorshift, so that a printed seed repeats a failure. */
function numbersFrom(start: number): (limit: number) => number {
  let state = start | 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

const policyOf = (level: string) =>
  `forbid (principal, action in [Action::"grant", Action::"update"], resource)
   when { context has access && context.access == "${level}" };`;

interface KnownRule {
  readonly id: string;
  readonly level: string;
  readonly enforcement: string;
  enabled: boolean;
}

it(`no sequence ends in a change that the rules before it forbid (seed ${seed})`, async () => {
  const number = numbersFrom(seed);
  const pick = <T>(of: readonly T[]): T => of[number(of.length)] as T;
  const org = await api.makeOrganization();
  const inside = (rest: string) => `/organizations/${org.name}${rest}`;
  const reader = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
  const team = await api.makeTeam(org.name, { visibility: "organization" });
  const requester = await api.makeMember(org.name, [reader.id]);
  const rules = new Map<string, KnownRule>();
  const isRefused = (level: string, isApproved: boolean) =>
    [...rules.values()].some(
      (rule) =>
        rule.enabled &&
        rule.level === level &&
        (rule.enforcement === "forbid" || (rule.enforcement === "approval" && !isApproved)),
    );

  const createRule = async () => {
    const [level, enforcement] = [pick(levels), pick(enforcements)];
    const body = resource("access-rules", { name: unique("rule"), policy: policyOf(level), enforcement });
    const { id } = data(await org.owner.post(inside("/access-rules"), body));
    rules.set(id, { id, level, enforcement, enabled: true });
  };
  const changeRule = async () => {
    const rule = pick([...rules.values()]);
    if (number(3) === 0) {
      data(await org.owner.delete(`/access-rules/${rule.id}`));
      rules.delete(rule.id);
      return;
    }
    rule.enabled = !rule.enabled;
    data(await org.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { enabled: rule.enabled })));
  };
  const newGrant = async () => {
    const project: Json = await api.makeProject(org.name);
    const access = pick(levels);
    return { project, access, body: resource("team-projects", { access }, onProject(project.id, team.id)) };
  };
  const grantsOn = async (project: Json) =>
    data(await org.owner.get(`/team-projects?filter[project][id]=${project.id}`)).length;
  const grantDirectly = async () => {
    const { project, access, body } = await newGrant();
    const { status } = await org.owner.post("/team-projects", body);
    expect([access, status]).toEqual([access, isRefused(access, false) ? 403 : 200]);
    expect(await grantsOn(project)).toBe(status === 200 ? 1 : 0);
  };
  const grantByRequest = async () => {
    const { project, access, body } = await newGrant();
    const change = { method: "POST", path: "/api/v2/team-projects", body };
    const sent = resource("access-requests", { reason: "a test", changes: [change] });
    const { id } = data(await requester.post(inside("/access-requests"), sent));
    if (number(2) === 0) await createRule();
    const { attributes } = data(await org.owner.get(`/access-requests/${id}`));
    const decision = resource("access-requests", { "access-version": attributes["access-version"] });
    const { status } = await org.owner.post(`/access-requests/${id}/actions/approve`, decision);
    expect([access, status]).toEqual([access, isRefused(access, true) ? 403 : 200]);
    expect(await grantsOn(project)).toBe(status === 200 ? 1 : 0);
    const { attributes: after } = data(await org.owner.get(`/access-requests/${id}`));
    expect(after.status).toBe(status === 200 ? "approved" : "pending");
    if (status !== 200) data(await requester.post(`/access-requests/${id}/actions/withdraw`));
  };

  for (let step = 0; step < deep(30, 400); step += 1) {
    const canCreate = rules.size < 20;
    const choice = number(4);
    if (choice === 0 && canCreate) await createRule();
    else if (choice === 1 && rules.size > 0) await changeRule();
    else if (choice === 2 && canCreate) await grantByRequest();
    else await grantDirectly();
  }
});
