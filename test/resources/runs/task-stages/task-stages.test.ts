/** Task stages: the list is always empty. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { makeMember, makeOrganization } from "../../../support/builders.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();

describe("listTaskStages", () => {
  it("is an empty page; 404 if the caller can't read the run, or it does not exist", async () => {
    const org = await makeOrganization(api);
    const { id } = await makeRun(org.owner, (await makeRunnable(api, org.name)).id);
    const { status, body } = await org.owner.get(`/runs/${id}/task-stages?page[size]=100`);
    expect(status).toBe(200);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination).toMatchObject({ "current-page": 1, "total-count": 0, "next-page": null });
    const stranger = await makeMember(api, org.name);
    expect((await stranger.get(`/runs/${id}/task-stages`)).status).toBe(404);
    expect((await org.owner.get("/runs/run-absent/task-stages")).status).toBe(404);
  });
});
