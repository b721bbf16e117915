/** The SSO provider resource: an OpenID Connect provider of the whole site or of one organization. */
import type { SsoProviderTable } from "../../../database/schema/sso.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, text, timestamp } from "../../../jsonapi/schemas.ts";

export const signInPath = (providerId: string): string => `/app/sign-in/sso/${providerId}`;

export interface SsoProviderView extends Omit<SsoProviderTable, "clientSecret"> {
  readonly organizationName: string | null;
  readonly organizationFactsVersion: number | null;
}

/** Statements and headers use control characters as separators. */
// oxlint-disable-next-line no-control-regex
const plain = /^(?! )[^\u0000-\u001f\u007f]*(?<! )$/;

const name = text({
  min: 1,
  max: 90,
  pattern: plain,
  sentence: "can't contain control characters, and can't begin or end with a space",
});
const issuer = text({
  min: 1,
  max: 512,
  pattern: /^https?:\/\/[^\s?#@]+$/,
  sentence: "must be the provider's issuer URL, exactly as in its tokens, such as https://accounts.example.com",
});
const claim = text({ min: 1, max: 256, pattern: plain, sentence: "must be the name of a claim" });
const scopes = text({
  min: 1,
  max: 512,
  pattern: /^(?=(.* )?openid( |$))[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
  sentence: "must be a list of scopes separated by single spaces that includes 'openid'",
});

/** Organization providers that don't identify themselves in the response use a callback path of their own. */
export const callbackPath = signInPath("callback");
export const ownCallbackPath = (id: string): string => `${signInPath(id)}/callback`;

const scopesByDefault = "openid email profile";
const needs = "a site admin";
const ofProvider = "/admin/sso-providers/:sso_provider_id";

export const ssoProviders = defineResource<SsoProviderView>()(({ required, optional, fixed, readOnly, toOne }) => ({
  type: "sso-providers",
  doc: "An OpenID Connect provider for single sign-on (SSO).",
  id: (provider) => provider.id,
  version: ({ version, organizationFactsVersion }) => [
    version,
    ...(organizationFactsVersion === null ? [] : [organizationFactsVersion]),
  ],
  attributes: {
    name: required(name, "The name on the sign-in page, unique across the site, ignoring case.", { folded: true }),
    issuer: required(
      issuer,
      "The provider's issuer URL, exactly as in its tokens. Its endpoints and keys are discovered from it. Changing it unlinks the users of the previous issuer.",
    ),
    "client-id": required(text({ min: 1, max: 512, pattern: plain }), "The client id of this service at the provider."),
    "client-secret": required(
      text({ min: 1, max: 2048 }),
      "The client secret of this service at the provider. It is never shown.",
      {
        column: false,
        shown: false,
        audited: false,
      },
    ),
    scopes: optional(scopes, "The scopes to request from the provider.", { default: scopesByDefault }),
    "groups-claim": optional(
      nullIfBlank(claim),
      "The claim that lists a user's groups, which are matched with the `sso-team-id` of teams. If null, groups are ignored.",
      { default: null },
    ),
    "create-users": optional(
      flag(),
      "Whether unknown people become users when they first sign in. For an organization's provider they also become members of the organization.",
      { default: false },
    ),
    "assume-email-verified": optional(
      flag(),
      "Whether an email address counts as verified if the provider sends no `email_verified` claim. Use it only for providers that verify every address.",
      { default: false },
    ),
    organization: fixed(
      nullIfBlank(text({ min: 1, max: 90 })),
      "The name of the organization that the provider belongs to; users can sign in only to that organization. If null, the provider belongs to the site. It can also be sent as a relationship.",
      { column: false, from: (provider) => provider.organizationName },
    ),
    "created-at": readOnly(timestamp(), "When the provider was created."),
  },
  relationships: {
    organization: toOne(
      "organizations",
      "The organization that the provider belongs to; null if it belongs to the site.",
      {
        create: "optional",
        nullable: true,
        id: (provider) => provider.organizationName,
        related: ({ organizationName }) =>
          organizationName === null ? undefined : `/api/v2/organizations/${organizationName}`,
      },
    ),
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
      summary: "List SSO providers, by name",
      needs,
      query: { paged: true },
      answer: "list",
    },
    createSsoProvider: {
      method: "POST",
      path: "/admin/sso-providers",
      summary: "Create an SSO provider",
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
      summary: "Show an SSO provider",
      needs,
      answer: "document",
    },
    updateSsoProvider: {
      method: "PATCH",
      path: ofProvider,
      summary: "Update an SSO provider",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "sso-providers", attributes: { "create-users": false } } },
    },
    deleteSsoProvider: {
      method: "DELETE",
      path: ofProvider,
      summary: "Delete an SSO provider. Its sessions end and team memberships from its groups are removed; users stay",
      needs,
      answer: "nothing",
    },
  },
}));
