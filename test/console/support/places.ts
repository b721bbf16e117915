/** Addresses of one organization in the API, for what a journey looks up afterwards. */
import type { Org } from "../../support/builders.ts";

/** The organization is made before the journeys begin, and not yet there when their file is read. */
export const placesOf =
  (org: () => Pick<Org, "name">) =>
  (place: string): string =>
    `/organizations/${org().name}/${place}`;
