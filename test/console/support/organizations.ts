/** An organization for each test of a file, and its API paths for later checks. */
import { beforeEach } from "vitest";
import { makeOrganization, type Org } from "../../support/builders.ts";
import type { Console } from "./browser.ts";

/** Set before each test, also before a retry, so that tests don't share data. */
export function useOrganization(console: Console): { readonly org: Org; inOrganization(place: string): string } {
  const org = {} as Org;
  beforeEach(async () => {
    Object.assign(org, await makeOrganization(console.api));
  });
  return { org, inOrganization: (place) => `/organizations/${org.name}/${place}` };
}
