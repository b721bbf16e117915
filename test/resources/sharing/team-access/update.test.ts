/** updateTeamProject and updateTeamWorkspace, deleteTeamProject and deleteTeamWorkspace over HTTP. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, pointers, resource } from "../../../support/builders.ts";
import { attributesOf, column, type Kind, kinds, pointerTo, shown, useTwin } from "./kinds.ts";

const api = useApi();

describe.each(kinds)("update$noun", (kind) => {
  const { type, subject, levels, choices } = kind;
  const twin = useTwin(api, kind);
  const { record, patch, show } = twin;
  const chosen = (path: string, value: unknown) => attributesOf({ [path]: value });
  const highest = column(choices, -1);
  const rich = { access: "custom", ...attributesOf(highest) };
  const lowest = Object.entries(column(choices, 0));

  it.each(levels.slice(0, -1))("%s takes what it implies, whatever was chosen before", async (access) => {
    const made = await record(rich);
    const changed = data(await patch(made.id, { access }));
    expect(changed.attributes).toEqual((await record({ access })).attributes);
    expect(data(await show(made.id))).toEqual(changed);
  });

  it("a level to custom takes the custom defaults for absent keys", async () => {
    const made = await record({ access: "admin" });
    const wanted = { access: "custom", ...chosen(kind.runs, "plan") };
    const changed = data(await patch(made.id, wanted));
    expect(changed.attributes).toEqual((await record(wanted)).attributes);
    expect(changed.attributes).toMatchObject(attributesOf({ ...Object.fromEntries(lowest), [kind.runs]: "plan" }));
  });

  it.each([
    [{ access: "read" }, "read"],
    [{}, "write"],
  ])("422: a level with a chosen permission: %j", async (level, shownLevel) => {
    const made = await record({ access: "write" });
    const answer = await patch(made.id, { ...level, ...chosen(kind.runs, "apply") });
    expect(answer.status).toBe(422);
    const human = subject === "project" ? "Workspace access runs" : "Runs";
    expect(details(answer)).toEqual([
      `${human} is read-only when access level is '${shownLevel}'; use the 'custom' access level to set this attribute.`,
    ]);
    expect(data(await show(made.id))).toEqual(made);
  });

  it("422: an unknown level", async () => {
    const made = await record({ access: "write" });
    for (const access of [kind.noLevel, null, 1]) expect((await patch(made.id, { access })).status).toBe(422);
  });

  it.each(lowest)("custom %s: %j changes it and keeps the others", async (path, value) => {
    for (const level of [{}, { access: "custom" }]) {
      const made = await record(rich);
      const changed = data(await patch(made.id, { ...level, ...chosen(path, value) }));
      const expected = attributesOf({ ...shown(highest), ...shown({ [path]: value }) });
      expect(changed.attributes).toEqual({ ...made.attributes, ...expected });
    }
  });

  it.each(lowest)("custom %s: null is 422", async (path) => {
    const answer = await patch((await record(rich)).id, chosen(path, null));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointerTo(path)]);
  });

  it("custom, absent: nothing changes, and the version stays the same", async () => {
    const made = await record(rich);
    for (const attributes of kind.nothing) {
      const answer = await patch(made.id, attributes);
      expect(data(answer)).toEqual(made);
      expect(answer.headers.get("etag")).toBe('"1"');
    }
  });

  it("keeps the team and the target, whatever is sent", async () => {
    const made = await record(rich);
    const other = { [subject]: { data: { type: `${subject}s`, id: (await twin.makeTarget()).id } } };
    const answer = await twin.org.owner.patch(`/${type}/${made.id}`, resource(type, {}, other));
    expect(data(answer).relationships).toEqual(made.relationships);
  });

  it("404: for callers who can see it but not manage it", async () => {
    const made = await record({ access: "read" });
    const reader = await twin.holding({ access: levels[2] });
    expect((await show(made.id, reader)).status).toBe(200);
    expect((await patch(made.id, { access: "read" }, reader)).status).toBe(404);
    expect((await reader.delete(`/${type}/${made.id}`)).status).toBe(404);
  });

  it("412: If-Match that does not match, before other checks", async () => {
    const { id } = await record({ access: "write" });
    const stale = { "if-match": '"7"' };
    expect((await patch(id, chosen(kind.runs, "apply"), twin.org.owner, stale)).status).toBe(412);
  });

  it("records audit events with before and after, also of its deletion", async () => {
    const made = await record({ access: "write" });
    data(await patch(made.id, { access: "read" }));
    expect((await twin.org.owner.delete(`/${type}/${made.id}`)).status).toBe(204);
    const of = async (action: string) => (await twin.events(action))[0].attributes;
    expect((await of("update")).before).toMatchObject({ access: "write", [subject]: twin.target.id });
    expect((await of("update")).after).toMatchObject({ access: "read", [subject]: twin.target.id });
    expect((await of("delete")).before).toMatchObject({ access: "read" });
    expect((await of("delete")).after).toBeNull();
  });

  it("does not exist after its deletion, or that of its team or target", async () => {
    const fresh = await twin.makeTarget();
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => record({ access: "read" }, fresh.id)));
    const { owner } = twin.org;
    data(await owner.delete(`/${type}/${one.id}`));
    expect((await show(one.id)).status).toBe(404);
    expect((await owner.delete(`/${type}/${one.id}`)).status).toBe(404);
    data(await owner.delete(`/teams/${two.relationships.team.data.id}`));
    expect((await show(two.id)).status).toBe(404);
    data(await owner.delete(`/${subject}s/${fresh.id}`));
    expect((await show(three.id)).status).toBe(404);
  });
});

describe("updateTeamProject", () => {
  const twin = useTwin(api, kinds[0] as Kind);

  it("403: raising anybody, including oneself, above one's own access; lowering is allowed", async () => {
    const fresh = await twin.makeTarget();
    const managers = await api.makeTeam(twin.org.name);
    const held = { access: "custom", "project-access": { teams: "manage" } };
    const own = await twin.record(held, fresh.id, managers.id);
    const strong = await twin.record({ access: "write" }, fresh.id);
    const manager = await api.makeMember(twin.org.name, [managers.id]);
    const change = async ({ id }: { id: string }, attributes: object) =>
      (await twin.patch(id, attributes, manager)).status;
    expect(await change(own, { access: "admin" })).toBe(403);
    expect(await change(own, { "workspace-access": { locking: true } })).toBe(403);
    expect(await change(strong, { access: "maintain" })).toBe(403);
    expect(await change(strong, { access: "read" })).toBe(200);
    expect(await change(strong, { access: "write" })).toBe(403);
  });
});
