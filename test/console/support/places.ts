/** An organization for each journey of a file, and its addresses in the API, for what they look up afterwards. */
import { beforeEach } from "vitest";
import { makeOrganization, type Org } from "../../support/builders.ts";
import type { Console } from "./browser.ts";

/** Filled in before each journey, also before its second try: nothing of another is in its way. */
export function useOrganization(console: Console): { readonly org: Org; inOrganization(place: string): string } {
  const org = {} as Org;
  beforeEach(async () => {
    Object.assign(org, await makeOrganization(console.api));
  });
  return { org, inOrganization: (place) => `/organizations/${org.name}/${place}` };
}
