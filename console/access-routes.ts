/** The pages about access of a whole organization: who has it, grants, requests, offers and rules. */
import * as details from "./api/detail-queries.ts";
import * as lists from "./api/list-queries.ts";
import { organization } from "./api/queries.ts";
import { byParameter, inOrganization, organizationQueries as here, page } from "./page-route.ts";

export const accessPages = [
  page(
    inOrganization,
    "who-can",
    () => import("./pages/who-can/page.tsx"),
    async ({ client, params, search }) => {
      const { permissions } = (await client.ensureQueryData(organization(params.organization))).data.attributes;
      const canRead = permissions["can-create-team"] || permissions["can-manage-memberships"];
      return canRead ? [lists.accessHolders(params.organization, search)] : [];
    },
  ),
  page(inOrganization, "grant", () => import("./pages/grant/page.tsx")),
  page(inOrganization, "access-requests", () => import("./pages/access-requests/list.tsx"), here(lists.accessRequests)),
  page(inOrganization, "access-requests/new", () => import("./pages/access-requests/new.tsx")),
  page(
    inOrganization,
    "access-requests/$request",
    () => import("./pages/access-requests/request.tsx"),
    byParameter("request", details.accessRequest),
  ),
  page(inOrganization, "offers", () => import("./pages/access-offers/page.tsx"), here(lists.accessOffers)),
  page(inOrganization, "offers/new", () =>
    import("./pages/access-offers/offer.tsx").then((pages) => ({ default: pages.NewOffer })),
  ),
  page(
    inOrganization,
    "offers/$offer",
    () => import("./pages/access-offers/offer.tsx").then((pages) => ({ default: pages.OfferPage })),
    byParameter("offer", details.accessOffer),
  ),
  page(inOrganization, "rules", () => import("./pages/access-rules/page.tsx"), here(lists.accessRules)),
  page(inOrganization, "rules/new", () =>
    import("./pages/access-rules/rule.tsx").then((pages) => ({ default: pages.NewRule })),
  ),
  page(
    inOrganization,
    "rules/violations",
    () => import("./pages/access-rules/violations.tsx"),
    here(lists.accessViolations),
  ),
  page(
    inOrganization,
    "rules/$rule",
    () => import("./pages/access-rules/rule.tsx").then((pages) => ({ default: pages.RulePage })),
    byParameter("rule", details.accessRule),
  ),
] as const;
