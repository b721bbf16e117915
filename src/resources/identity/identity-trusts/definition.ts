/** The identity trust resource: which pipelines can exchange their OpenID Connect tokens for a team token. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { IdentityTrustTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../organizations/definition.ts";

export interface IdentityTrustView extends IdentityTrustTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
}

const tokenSecondsMax = 3600;
const claimsMax = 32;

const name = text({
  min: 1,
  max: 90,
  pattern: /^[A-Za-z0-9_-]+$/,
  sentence: "may only contain letters, numbers, dashes and underscores",
});
const issuer = text({
  min: 1,
  max: 512,
  pattern: /^https?:\/\/[^\s?#@]+$/,
  sentence: "must be the issuer's URL, exactly as in its tokens",
});
const pattern = text({ min: 1, max: 512 });
const claims = z
  .record(text({ min: 1, max: 128 }), pattern, { error: "must be an object that maps claims to patterns" })
  .refine(restrictsPipelines, {
    error:
      "must include a claim that distinguishes pipelines, with a pattern that has more than wildcards; otherwise every pipeline of the issuer could act as the team. Add a claim such as repository with the pattern acme/*",
  })
  .refine((sent) => Object.keys(sent).length <= claimsMax, { error: `can't have more than ${claimsMax} members` });

/** Claims that every pipeline of an issuer has, or can choose. */
const commonClaims: ReadonlySet<string> = new Set(["iss", "aud", "exp", "nbf", "iat", "jti"]);

export function restrictsPipelines(patterns: Readonly<Record<string, string>>): boolean {
  return Object.entries(patterns).some(([name, glob]) => !commonClaims.has(name) && /[^*?]/.test(glob));
}

const needs =
  "an owner or a team with 'manage-teams', with permission to create the team's tokens and at least the team's access; not a team or organization token that expires";

export const identityTrusts = defineResource<IdentityTrustView>()(({ required, optional, readOnly, toOne }) => ({
  type: "identity-trusts",
  doc: "Lets pipelines authenticate without a stored secret: they exchange their own OpenID Connect token for a short-lived token of a team.",
  id: (trust) => trust.id,
  version: (trust) => [trust.version, trust.organizationFactsVersion],
  attributes: {
    name: required(name, "The name of the trust, unique in the organization, ignoring case.", { folded: true }),
    issuer: required(issuer, "The issuer of the pipelines' tokens, exactly as in the claim `iss`."),
    audience: required(text({ min: 1, max: 512 }), "The audience that the tokens must have in the claim `aud`."),
    claims: required(
      claims,
      "Other claims that the tokens must have, each with a pattern. `*` matches any characters, `?` matches one. If a claim is a list, one of its first 256 items must match. Values longer than 1,024 characters never match. At least one claim must distinguish pipelines: a claim other than `iss`, `aud`, `exp`, `nbf`, `iat` and `jti`, with a pattern that has more than wildcards.",
      { column: false, from: (trust) => JSON.parse(trust.claims) as object },
    ),
    "token-seconds": optional(
      wholeNumber({ min: 60, max: tokenSecondsMax }),
      "The lifetime of the issued team token, in seconds.",
      { default: 900 },
    ),
    "created-at": readOnly(timestamp(), "When the trust was created."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that the trust belongs to.", {
      id: (trust) => trust.organizationName,
    }),
    team: toOne("teams", "The team that the pipelines act as.", { create: "required", id: (trust) => trust.teamId }),
  },
  links: (trust) => ({ self: `/api/v2/identity-trusts/${trust.id}` }),
  operations: {
    listIdentityTrusts: {
      method: "GET",
      path: "/organizations/:organization_name/identity-trusts",
      summary: "List identity trusts, by name",
      needs: "an owner, or a team with 'manage-teams'",
      query: { paged: true },
      answer: "list",
    },
    createIdentityTrust: {
      method: "POST",
      path: "/organizations/:organization_name/identity-trusts",
      summary: "Create an identity trust",
      needs,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "identity-trusts",
          attributes: {
            name: "deployments",
            issuer: "https://token.actions.githubusercontent.com",
            audience: "cadastre",
            claims: { repository: "acme/*", ref: "refs/heads/main" },
            "token-seconds": 600,
          },
          relationships: { team: { data: { type: "teams", id: "team-1234567890abcdef" } } },
        },
      },
    },
    showIdentityTrust: {
      method: "GET",
      path: "/identity-trusts/:identity_trust_id",
      summary: "Show an identity trust",
      needs: "an owner, or a team with 'manage-teams'",
      answer: "document",
    },
    updateIdentityTrust: {
      method: "PATCH",
      path: "/identity-trusts/:identity_trust_id",
      summary: "Update an identity trust",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "identity-trusts", attributes: { "token-seconds": 300 } } },
    },
    deleteIdentityTrust: {
      method: "DELETE",
      path: "/identity-trusts/:identity_trust_id",
      summary: "Delete an identity trust; tokens that were already issued work until they expire",
      needs: "an owner, or a team with 'manage-teams'",
      answer: "nothing",
    },
  },
}));
