/** deleteVar and deleteVarsetVar over HTTP, and what goes with a workspace or a set. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, resource } from "../../../support/builders.ts";
import { homes, newKey, useStage, varsIn } from "./support.ts";

const api = useApi();

describe.each(homes)("a variable of %s", (type) => {
  const stage = useStage(api, type);

  describe("deleteVar answers 204", () => {
    it("and then it is gone, also from the document of its workspace or set, whose version rises", async () => {
      const [first, last] = [data(await stage.create()), data(await stage.create())];
      const home = () => stage.org.owner.get(stage.homePath);
      const before = await home();
      expect((await stage.org.owner.delete(`${stage.path}/${first.id}`)).status).toBe(204);
      expect((await stage.show(first.id)).status).toBe(404);
      expect(await stage.row(first.id)).toBeUndefined();
      const after = await home();
      expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
      const named = (answer: typeof after): string[] => data(answer).relationships.vars.data.map(({ id }: Json) => id);
      expect(named(before).toSorted()).toEqual([stage.variable.id, first.id, last.id].toSorted());
      expect(named(after)).toEqual(named(before).filter((id) => id !== first.id));
    });

    it("and leaves one without any naming none", async () => {
      const home = await stage.makeHome();
      const path = `/${type}/${home.id}`;
      const body = resource("vars", { key: newKey(), category: "env" });
      const made = data(await stage.org.owner.post(varsIn(home), body));
      expect((await stage.org.owner.delete(`${varsIn(home)}/${made.id}`)).status).toBe(204);
      expect(data(await stage.org.owner.get(path)).relationships.vars.data).toEqual([]);
      expect((await stage.org.owner.post(varsIn(home), body)).status).toBe(201);
      expect(data(await stage.org.owner.get(path)).relationships.vars.data).toHaveLength(1);
    });

    it("and frees the key, also one that was sensitive", async () => {
      const { key } = stage.variable.attributes;
      await stage.update({ sensitive: true });
      expect((await stage.org.owner.delete(stage.at)).status).toBe(204);
      const again = data(await stage.create({ key, value: "open" }));
      expect(again.attributes).toMatchObject({ key, value: "open", sensitive: false });
      expect(again.id).not.toBe(stage.variable.id);
    });

    it("to one of many at the same time", async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => stage.org.owner.delete(stage.at)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404]);
    });
  });

  describe("deleteVar answers 404", () => {
    it("for a variable that is not there", async () => {
      expect((await stage.org.owner.delete(`${stage.path}/var-0000000000000000`)).status).toBe(404);
    });
  });

  describe("deleting the workspace or set", () => {
    it("takes its variables along", async () => {
      expect((await stage.org.owner.delete(stage.homePath)).status).toBe(204);
      expect(await stage.row()).toBeUndefined();
      expect((await stage.show()).status).toBe(404);
    });
  });
});
