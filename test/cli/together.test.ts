/** Several servers start together on an empty database: all of them serve, and one creates the admin. */
import { describe, expect, test } from "vitest";
import { serve } from "../../src/main.ts";
import { readSettings } from "../../src/settings.ts";
import { callerOn } from "../support/api.ts";
import { data } from "../support/builders.ts";
import { deep } from "../support/depth.ts";
import { dropRegistersAfterwards, newRegister, startService, stopService, tokenIn } from "./support.ts";
import { scaled } from "../support/waiting.ts";

dropRegistersAfterwards();
const quietly = { CADASTRE_LISTEN: "127.0.0.1:0", CADASTRE_CONSOLE: "off", CADASTRE_LOG_LEVEL: "fatal" };

async function expectOneAdmin(url: string, token: string): Promise<void> {
  const users = data(await callerOn(url, token).get("/admin/users"));
  expect(users.map((user: { attributes: { username: string } }) => user.attributes.username)).toEqual(["admin"]);
}

describe("servers that start together on an empty PostgreSQL", () => {
  test(`all serve, ${deep(4, 60)} times`, { timeout: scaled(600_000) }, async () => {
    for (let round = 0; round < deep(4, 60); round += 1) {
      const environment = { ...(await newRegister("postgres")), ...quietly };
      const said: string[] = [];
      const opened = await Promise.allSettled(
        Array.from({ length: 6 }, () => serve(readSettings({ environment }), { say: (text) => said.push(text) })),
      );
      const services = opened.map((each) => {
        if (each.status === "rejected") throw each.reason;
        return each.value;
      });
      const tokens = said.map(tokenIn).filter((token) => token !== undefined);
      expect(tokens).toHaveLength(1);
      for (const { url } of services) await expectOneAdmin(url, tokens[0] ?? "");
      await Promise.all(services.map((service) => service.stop()));
    }
  });

  test("all serve as separate processes", async () => {
    const environment = {
      ...(await newRegister("postgres")),
      ...quietly,
      CADASTRE_ADMIN_TOKEN: "the-one-for-all-of-them",
    };
    const services = await Promise.all(Array.from({ length: 4 }, () => startService(environment)));
    for (const { url } of services) await expectOneAdmin(url, "the-one-for-all-of-them");
    for (const service of services) expect(await stopService(service)).toMatchObject({ code: 0, err: "" });
  });
});
