/** A provider of single sign-on: whose word is taken for who somebody is, on the whole site or in one organization. */
import type { SsoProviderTable } from "../../../database/schema/sso.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, text, timestamp } from "../../../jsonapi/schemas.ts";

/** Where a browser begins to sign in by a provider. */
export const signInPath = (providerId: string): string => `/app/sign-in/sso/${providerId}`;

/** Without the secret, which is only ever read to be shown to the provider. */
export interface SsoProviderView extends Omit<SsoProviderTable, "clientSecret"> {
  readonly organizationName: string | null;
  readonly organizationFacts: number | null;
}

/** Control characters stand between things in statements and in headers. */
// oxlint-disable-next-line no-control-regex
const plain = /^(?! )[^\u0000-\u001f\u007f]*(?<! )$/;

const name = text({
  min: 1,
  max: 90,
  pattern: plain,
  sentence: "may neither contain control characters nor begin or end with a space",
});
const issuer = text({
  min: 1,
  max: 512,
  pattern: /^https?:\/\/[^\s?#@]+$/,
  sentence: "must be the provider's URL, as its tokens say it, such as https://accounts.example.com",
});
const claim = text({ min: 1, max: 256, pattern: plain, sentence: "must be the name of a claim" });
const scopes = text({
  min: 1,
  max: 512,
  pattern: /^(?=(.* )?openid( |$))[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
  sentence: "must be scopes with single spaces between them, 'openid' among them",
});

/** Where a browser comes back to from a provider; and from an organization's that does not say its name then. */
export const callbackPath = signInPath("callback");
export const ownCallbackPath = (id: string): string => `${signInPath(id)}/callback`;

const scopesByDefault = "openid email profile";
const needs = "a site admin";
const ofProvider = "/admin/sso-providers/:sso_provider_id";

export const ssoProviders = defineResource<SsoProviderView>()(({ required, optional, fixed, readOnly, toOne }) => ({
  type: "sso-providers",
  doc: "A provider of single sign-on by OpenID Connect: people sign in there, and are known here.",
  id: (provider) => provider.id,
  version: ({ version, organizationFacts }) => [version, ...(organizationFacts === null ? [] : [organizationFacts])],
  attributes: {
    name: required(name, "What the sign-in page calls it; unique in the register, ignoring case.", { folded: true }),
    issuer: required(
      issuer,
      "The provider's issuer, to the letter; its addresses and keys are found from it. Whoever was known by another one is not known by this one.",
    ),
    "client-id": required(text({ min: 1, max: 512, pattern: plain }), "Who this service is to the provider."),
    "client-secret": required(text({ min: 1, max: 2048 }), "By which it shows that. Never shown.", {
      column: false,
      shown: false,
      audited: false,
    }),
    scopes: optional(scopes, "What the provider is asked for.", { default: scopesByDefault }),
    "groups-claim": optional(
      nullIfBlank(claim),
      "The claim that lists somebody's groups; each is compared with the teams' `sso-team-id`. Without one, nothing is made of groups.",
      { default: null },
    ),
    "create-users": optional(
      flag(),
      "Whether whoever is not known yet becomes a user at the first sign-in; of an organization's provider, a member there too.",
      { default: false },
    ),
    "assume-email-verified": optional(
      flag(),
      "Whether an address counts as verified where the provider does not say so (`email_verified` is absent). Only for providers that verify every address.",
      { default: false },
    ),
    organization: fixed(
      nullIfBlank(text({ min: 1, max: 90 })),
      "The organization whose own it is, by name: it signs in to that one alone. Without one, it is the site's. Also taken as a relationship.",
      { column: false, from: (provider) => provider.organizationName },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization whose own it is; null for one of the site.", {
      create: "optional",
      nullable: true,
      id: (provider) => provider.organizationName,
      related: ({ organizationName }) =>
        organizationName === null ? undefined : `/api/v2/organizations/${organizationName}`,
    }),
  },
  links: (provider) => ({
    self: `/api/v2/admin/sso-providers/${provider.id}`,
    "sign-in": signInPath(provider.id),
    callback: callbackPath,
    ...(provider.organizationId !== null && { "own-callback": ownCallbackPath(provider.id) }),
  }),
  operations: {
    listSsoProviders: {
      method: "GET",
      path: "/admin/sso-providers",
      summary: "List providers of single sign-on, by name",
      needs,
      query: { paged: true },
      answer: "list",
    },
    createSsoProvider: {
      method: "POST",
      path: "/admin/sso-providers",
      summary: "Let people sign in by an OpenID Connect provider",
      needs,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "sso-providers",
          attributes: {
            name: "Acme",
            issuer: "https://accounts.acme.example",
            "client-id": "cadastre",
            "client-secret": "the provider's secret for it",
            "groups-claim": "groups",
            "create-users": true,
          },
        },
      },
    },
    showSsoProvider: {
      method: "GET",
      path: ofProvider,
      summary: "Show a provider of single sign-on",
      needs,
      answer: "document",
    },
    updateSsoProvider: {
      method: "PATCH",
      path: ofProvider,
      summary: "Change a provider of single sign-on",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "sso-providers", attributes: { "create-users": false } } },
    },
    deleteSsoProvider: {
      method: "DELETE",
      path: ofProvider,
      summary:
        "Delete a provider of single sign-on: sessions that began by it end, places in teams by its groups go, users stay",
      needs,
      answer: "nothing",
    },
  },
}));
