/** Signing in by a provider: who is found, who is made, who is refused. The provider is a real one, on the loopback address. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, unique } from "../../../support/builders.ts";
import {
  type Landing,
  type Liar,
  makeProvider,
  privateAddresses,
  signIn,
  startLiar,
} from "../../../support/identity-provider.ts";

const api = useApi({ options: { privateAddresses } });
let liar: Liar;
beforeAll(async () => {
  liar = await startLiar();
});
afterAll(() => void liar.http.close());

const verified = (email: string, more: object = {}) => ({
  claims: { sub: unique("sub"), email, email_verified: true, ...more },
});
const account = async ({ cookie = "" }: Landing) => data(await api.nobody.get("/account/details", { cookie }));

describe("a provider of the site", () => {
  it("makes a user at the first sign-in, and finds the same one by the subject from then on", async () => {
    const { id } = await makeProvider(api, liar.url, { "create-users": true });
    const name = unique("ada");
    const said = verified(`${name}@acme.example`, { preferred_username: name });
    const first = await signIn(api, liar, id, said, "?return=/app/acme");
    expect(first.page).toBe("");
    expect({ status: first.status, location: first.location }).toEqual({ status: 302, location: "/app/acme" });
    const made = await account(first);
    expect(made.attributes).toMatchObject({ username: name, email: `${name}@acme.example`, "is-site-admin": false });
    const again = await signIn(api, liar, id, { claims: { ...said.claims, email: "other@acme.example" } });
    expect((await account(again)).id).toBe(made.id);
  });
});
