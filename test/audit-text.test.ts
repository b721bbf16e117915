/** The sentences that the console shows for events of the audit log. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { plainOf, sentenceOf, sentences } from "../console/pages/audit/sentences.ts";
import { changesOf, type Event, timeOf } from "../console/pages/audit/words.ts";

type Facts = Record<string, unknown>;
interface EventFacts {
  readonly id?: string;
  readonly name?: string | null;
  readonly related?: [type: string, id: string, name: string, deleted?: "deleted"][];
  readonly before?: Facts;
  readonly after?: Facts;
}

function eventOf(action: string, { id = "it", name = null, related = [], before, after }: EventFacts): Event {
  return {
    id: "ae-1",
    attributes: {
      action,
      "subject-type": action.slice(0, action.indexOf(".")),
      "subject-id": id,
      "subject-name": name,
      related: related.map(([type, each, label, deleted]) => ({
        type,
        id: each,
        name: label,
        deleted: deleted !== undefined,
      })),
      before: before ?? null,
      after: after ?? null,
    } as unknown as Event["attributes"],
  };
}
const partsOf = (action: string, event: EventFacts) => sentenceOf("acme", eventOf(action, event));
const textOf = (action: string, event: EventFacts) => plainOf(partsOf(action, event));

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const grant = { team: "team-1", project: "prj-1", access: "custom", "expires-at": null, reason: null };
const names: EventFacts["related"] = [
  ["teams", "team-1", "on-call"],
  ["projects", "prj-1", "Payments"],
];

describe("an event of the audit log", () => {
  it("names the parent of its subject, and nothing else that it mentions", () => {
    const inSet: EventFacts["related"] = [
      ["vars", "it", "region"],
      ["varsets", "varset-1", "credentials", "deleted"],
      ["workspaces", "ws-1", "sandbox"],
    ];
    expect(textOf("vars.create", { name: "region", related: inSet })).toBe("created variable region in credentials");
    const set: EventFacts = { name: "credentials", related: [["workspaces", "ws-1", "sandbox"]] };
    expect(textOf("varsets.delete", set)).toBe("deleted variable set credentials");
    const team: EventFacts = { name: "deployments", related: [["teams", "team-1", "on-call"]] };
    expect(textOf("identity-trusts.create", team)).toBe("created identity trust deployments for on-call");
    expect(textOf("notification-configurations.create", team)).toBe("created notification deployments for on-call");
  });

  it("does not link to deleted resources", () => {
    const linksIn = (event: EventFacts) =>
      partsOf("teams.update", event).flatMap((part) => (typeof part === "string" || !part.to ? [] : [part.name]));
    expect(linksIn({ name: "on-call", related: [["teams", "it", "on-call"]] })).toEqual(["on-call"]);
    expect(linksIn({ name: "on-call", related: [["teams", "it", "on-call", "deleted"]] })).toEqual([]);
  });

  it.each<[Facts, Facts, string]>([
    [{}, { env: "prod" }, "set env=prod on ledger"],
    [{ env: "prod" }, { env: "prod" }, "made no change to the tags of ledger"],
    [{ env: "prod", tier: "1" }, { tier: "1" }, "removed env=prod from ledger"],
    [{ env: "prod", tier: "1" }, { tier: "2" }, "set tier=2 on ledger and removed env=prod"],
  ])("names tags that were set and removed: %j to %j", (before, after, text) => {
    const event = { name: "ledger", before: { "tag-bindings": before }, after: { "tag-bindings": after } };
    expect(textOf("workspaces.bind-tags", event)).toBe(text);
  });

  it("shows one expiry for all members, or one for each", () => {
    const [soon, later] = [inHours(2), inHours(50)];
    const joined = (ends: (string | null)[]) =>
      textOf("teams.add-members", {
        name: "on-call",
        after: {
          members: ends.map((end, at) => ({ membership: "ou", username: ["bo", "mia"][at], "expires-at": end })),
        },
      });
    expect(joined([soon, soon])).toBe(`added bo and mia to on-call until ${timeOf(soon)}`);
    expect(joined([soon, later])).toBe(`added bo until ${timeOf(soon)} and mia until ${timeOf(later)} to on-call`);
    expect(joined([soon, null])).toBe(`added bo until ${timeOf(soon)} and mia with no expiry to on-call`);
    expect(joined([null, null])).toBe("added bo and mia to on-call");
  });

  it("names the permissions of a custom grant, those that changed, and the reason", () => {
    const before = {
      ...grant,
      "project-access": { settings: "read", teams: "none" },
      "workspace-access": { runs: "apply", variables: "none", locking: true, move: false },
    };
    expect(textOf("team-projects.create", { related: names, after: { ...before, reason: "incident 7" } })).toBe(
      "granted on-call custom (settings: read, runs: apply, locking) on Payments: “incident 7”",
    );
    const after = { ...before, "workspace-access": { runs: "read", variables: "none", locking: false, move: false } };
    expect(textOf("team-projects.update", { related: names, before, after })).toBe(
      "changed the access of on-call on Payments to runs: read, no locking",
    );
    expect(textOf("team-projects.update", { related: names, before, after: { ...before, reason: "incident 8" } })).toBe(
      "changed the reason for the access of on-call: custom on Payments: “incident 8”",
    );
    const onWorkspace = { access: "custom", team: "team-1", workspace: "ws-1", runs: "plan", "run-tasks": false };
    const related: EventFacts["related"] = [...names, ["workspaces", "ws-1", "ledger"]];
    expect(textOf("team-workspaces.create", { related, after: onWorkspace })).toBe(
      "granted on-call custom (runs: plan) on ledger",
    );
  });

  it("names other changes in a move, but not the time of the update", () => {
    const before = { name: "w1", "auto-apply": false, project: "prj-0", "updated-at": "a" };
    const after = { name: "w2", "auto-apply": true, project: "prj-1", "updated-at": "b" };
    const related: EventFacts["related"] = [...names, ["projects", "prj-0", "Default Project"]];
    expect(textOf("workspaces.update", { name: "w2", related, before, after })).toBe(
      "moved w2 from Default Project to Payments: name, auto-apply",
    );
    expect(changesOf(eventOf("workspaces.update", { before, after })).map(({ name }) => name)).not.toContain(
      "updated-at",
    );
  });

  it("names the access that was deleted with a team or a project", () => {
    const members = ["bo", "mia"].map((username) => ({ membership: "ou", username }));
    const before = { name: "on-call", grants: [{ project: "prj-1", access: "write" }], members };
    const deleted = (facts: Facts) => textOf("teams.delete", { name: "on-call", related: names, before: facts });
    expect(deleted(before)).toBe("deleted team on-call, which had write on Payments and members bo and mia");
    expect(deleted({ ...before, members: undefined })).toBe("deleted team on-call, which had write on Payments");
    expect(deleted({ name: "on-call" })).toBe("deleted team on-call");
    const grants = [{ team: "team-1", access: "write" }];
    expect(textOf("projects.delete", { name: "Payments", related: names, before: { grants } })).toBe(
      "deleted project Payments, where on-call had write",
    );
  });

  it("names an access request, its requester, and the changes that its approval made", () => {
    const related: EventFacts["related"] = [
      ...names,
      ["users", "user-1", "mia"],
      ["access-requests", "areq-1", "Incident 42"],
    ];
    const request = { id: "areq-1", name: "Incident 42", related };
    const decision = { requester: "user-1", "decision-comment": "For an hour" };
    expect(textOf("access-requests.create", request)).toBe("sent access request Incident 42");
    expect(textOf("access-requests.approve", { ...request, after: decision })).toBe(
      "approved access request Incident 42 of mia: “For an hour”",
    );
    expect(textOf("access-requests.lapse", request)).toBe("recorded that access request Incident 42 has lapsed");
    const change = eventOf("team-projects.create", { related, after: { ...grant, access: "write" } });
    const byRequest = { ...change, attributes: { ...change.attributes, "access-request-id": "areq-1" } };
    expect(plainOf(sentenceOf("acme", byRequest))).toBe(
      "granted on-call write on Payments, by access request Incident 42",
    );
  });

  it("names the rule that refused a team membership, or a change of an import", () => {
    const seat = { username: "mia", "rule-name": "no-contractors", message: "Only employees." };
    expect(textOf("teams.refuse-member", { name: "on-call", after: seat })).toBe(
      "did not add mia to on-call, because rule no-contractors refuses it: “Only employees.”",
    );
    const change = { action: "grant", resource: "prj-1", message: "No admins." };
    expect(textOf("access-rules.skip-change", { name: "no-admin", after: change })).toBe(
      "skipped a change of the import, because rule no-admin refuses it: “No admins.”",
    );
    expect(textOf("organizations.refresh-access-violations", { name: "acme" })).toBe(
      "refreshed the access violations of organization acme",
    );
  });

  it("names the resource whose data was deleted", () => {
    const workspace: EventFacts["related"] = [["workspaces", "ws-1", "ledger"]];
    const run: EventFacts["related"] = [["runs", "run-1", "Open the peering\n\nAs agreed."], ...workspace];
    const verb = "soft-delete-backing-data";
    expect(textOf(`plans.${verb}`, { related: run })).toBe(
      "deleted the data of the plan of run Open the peering in ledger",
    );
    expect(textOf(`configuration-versions.${verb}`, { related: workspace })).toBe(
      "deleted the data of a configuration version in ledger",
    );
    expect(textOf(`state-versions.${verb}`, { related: workspace, after: { serial: 4 } })).toBe(
      "deleted the data of state version 4 in ledger",
    );
    const connection: EventFacts["related"] = [["oauth-clients", "oc-1", "GitHub"]];
    expect(textOf("oauth-tokens.delete", { related: connection })).toBe("deleted the token of connection GitHub");
    const lifetime = { "token-type": "team", "max-ttl-ms": 90 * 86_400_000 };
    expect(textOf("organization-token-ttl-policies.update", { after: lifetime })).toBe(
      "set the maximum lifetime of team tokens to 90 days",
    );
  });
});

/** Actions that no route of `audit-events.txt` writes are filters of the audit log only because they have a sentence. */
it("every action of the audit log is a filter", () => {
  /** Parts of other actions, and events that belong to no organization, or to a deleted one. */
  const others = new Set(["add", "remove", "adopt", "empty", "rotate"]);
  const actions = [...Object.keys(sentences), ...readFileSync("test/goldens/audit-events.txt", "utf8").split(/[\s,]+/)];
  const known = new Set(actions.map((action) => action.slice(action.indexOf(".") + 1)));
  const written = globSync("src/**/*.ts").flatMap((path) =>
    [...readFileSync(path, "utf8").matchAll(/\bverb: "([a-z-]+)"/g)].map(([, verb = ""]) => verb),
  );
  expect(written.length).toBeGreaterThan(40);
  expect(written.filter((verb) => !known.has(verb) && !others.has(verb))).toEqual([]);
  expect(Object.keys(sentences)).toEqual(
    expect.arrayContaining(["access-requests.break-glass", "teams.expire-members"]),
  );
});
