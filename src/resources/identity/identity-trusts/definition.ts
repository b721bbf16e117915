/** A trust: whoever shows a token of this issuer, for this audience and with these claims, is the team for a while. */
import { z } from "zod";
import type { Standing } from "../../../access/organization.ts";
import type { IdentityTrustTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../organizations/definition.ts";

export interface IdentityTrustView extends IdentityTrustTable, OrganizationFacts {
  readonly standing: Standing;
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
  sentence: "must be the issuer's URL, as its tokens say it",
});
const pattern = text({ min: 1, max: 512 });
const claims = z
  .record(text({ min: 1, max: 128 }), pattern, { error: "must be an object of claims, each with a pattern" })
  .refine(restrictsPipelines, {
    error:
      "must have one that tells pipelines apart, by more than wildcards: with these, every pipeline of the issuer would be the team. Add one such as repository with the pattern acme/*",
  })
  .refine((sent) => Object.keys(sent).length <= claimsMax, { error: `can't have more than ${claimsMax} members` });

/** Who signs, for whom, when, and under which id: every pipeline of an issuer has these, or one that fits. */
const commonClaims: ReadonlySet<string> = new Set(["iss", "aud", "exp", "nbf", "iat", "jti"]);

/** Whether claims leave any pipeline of the issuer out: a pattern of wildcards alone fits every value. */
export function restrictsPipelines(patterns: Readonly<Record<string, string>>): boolean {
  return Object.entries(patterns).some(([name, glob]) => !commonClaims.has(name) && /[^*?]/.test(glob));
}

const needs =
  "an owner, or a team with 'manage-teams', who may make the team's tokens and hold what the team holds; not by a token that expires, unless a user's";

export const identityTrusts = defineResource<IdentityTrustView>()(({ required, optional, readOnly, toOne }) => ({
  type: "identity-trusts",
  doc: "Lets pipelines in without a stored secret: their own OpenID Connect token is exchanged for a team's token, for a while.",
  id: (trust) => trust.id,
  version: (trust) => [trust.version, trust.organizationFacts],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    issuer: required(issuer, "Who signs the pipelines' tokens: the claim `iss`, to the letter."),
    audience: required(text({ min: 1, max: 512 }), "Whom they must be meant for: the claim `aud`."),
    claims: required(
      claims,
      "What else they must say, claim by claim. `*` stands for any characters, `?` for one; of a list, one of the first 256 items must fit. What is longer than 1,024 characters fits nothing. At least one must tell pipelines apart: not `iss`, `aud`, `exp`, `nbf`, `iat` or `jti`, and not by wildcards alone.",
      { column: false, from: (trust) => JSON.parse(trust.claims) as object },
    ),
    "token-seconds": optional(
      wholeNumber({ min: 60, max: tokenSecondsMax }),
      "How long the team's token works that they get.",
      { default: 900 },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that trusts.", { id: (trust) => trust.organizationName }),
    team: toOne("teams", "Whom they are taken for.", { create: "required", id: (trust) => trust.teamId }),
  },
  links: (trust) => ({ self: `/api/v2/identity-trusts/${trust.id}` }),
  operations: {
    listIdentityTrusts: {
      method: "GET",
      path: "/organizations/:organization_name/identity-trusts",
      summary: "List trusts, by name",
      needs: "an owner, or a team with 'manage-teams'",
      query: { paged: true },
      answer: "list",
    },
    createIdentityTrust: {
      method: "POST",
      path: "/organizations/:organization_name/identity-trusts",
      summary: "Let pipelines in by their own tokens",
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
      summary: "Show a trust",
      needs: "an owner, or a team with 'manage-teams'",
      answer: "document",
    },
    updateIdentityTrust: {
      method: "PATCH",
      path: "/identity-trusts/:identity_trust_id",
      summary: "Change whom is trusted",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "identity-trusts", attributes: { "token-seconds": 300 } } },
    },
    deleteIdentityTrust: {
      method: "DELETE",
      path: "/identity-trusts/:identity_trust_id",
      summary: "Trust no longer; tokens that were given work until they end",
      needs: "an owner, or a team with 'manage-teams'",
      answer: "nothing",
    },
  },
}));
