/** Access previews list the rules that match each change. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { type Member, type Org } from "../../../support/builders.ts";
import { joining, previewOf, projectGrant, requestPreview } from "../../../support/previews.ts";
import { message, ruleFor, whileRuled } from "./support.ts";

const api = useApi();
let org: Org;
let team: Json;
let member: Member;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
  member = await api.makeMember(org.name);
  project = await api.makeProject(org.name);
});

const withRule = <T>(attributes: object, work: (rule: Json) => Promise<T>) => whileRuled(org, attributes, work);
const grant = (access: string, teamId: string) => projectGrant(access, teamId, project.id);

describe("previews", () => {
  it("list the rules that match each change, and show a refusal", async () => {
    await withRule({ policy: ruleFor('context has access && context.access == "admin"') }, (forbidding) =>
      withRule({ policy: ruleFor("true"), enforcement: "advise" }, async (advising) => {
        const newTeam = await api.makeTeam(org.name);
        const preview = await previewOf(org.owner, org.name, grant("admin", newTeam.id), grant("read", team.id));
        const shown = ({ id, attributes: { name, enforcement } }: Json) => ({ id, name, message, enforcement });
        const [first, second] = preview.changes;
        expect(first.allowed).toBe(false);
        expect(first.refusal).toContain(`'${forbidding.attributes.name}'`);
        expect(first.rules.toSorted((a: Json, b: Json) => (a.enforcement < b.enforcement ? -1 : 1))).toEqual([
          shown(advising),
          shown(forbidding),
        ]);
        expect(preview.gains.length).toBeGreaterThan(0);
        expect(second.rules).toEqual([shown(advising)]);
      }),
    );
  });

  it("also for a caller who can't make the change", async () => {
    const viewer = await api.makeTeam(org.name, { visibility: "organization" });
    await api.grantProject(project.id, viewer.id, "read");
    const reader = await api.makeMember(org.name, [viewer.id]);
    const condition = `principal == User::"${reader.id}"`;
    await withRule({ policy: ruleFor(condition) }, async (rule) => {
      const preview = await previewOf(reader, org.name, joining(viewer.id, member.username));
      expect(preview.changes[0].allowed).toBe(false);
      expect(preview.changes[0].refusal).not.toContain(message);
      expect(preview.changes[0].rules).toMatchObject([{ id: rule.id, message }]);
    });
  });

  it("apply: the first refusal, or warnings", async () => {
    const fresh = grant("read", (await api.makeTeam(org.name)).id);
    const version = (await previewOf(org.owner, org.name, fresh))["access-version"];
    const apply = { apply: true, "access-version": version };
    await withRule({ policy: ruleFor("true") }, async () =>
      expect((await requestPreview(org.owner, org.name, [fresh], apply)).status).toBe(403),
    );
    await withRule({ policy: ruleFor("true"), enforcement: "advise" }, async (rule) => {
      const applied = await requestPreview(org.owner, org.name, [fresh], apply);
      expect(applied.status).toBe(200);
      expect(applied.body.meta.warnings).toEqual([{ rule: rule.id, name: rule.attributes.name, message }]);
    });
  });
});
