/** The sign-in options resource: what a sign-in page offers. It must not reveal organizations that the caller doesn't name. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { flag } from "../../../jsonapi/schemas.ts";
import { signInPath } from "../sso-providers/definition.ts";

export interface SignInOptionsView {
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

const provider = z.object({ id: z.string(), name: z.string(), url: z.string() });

export const signInOptions = defineResource<SignInOptionsView>()(({ readOnly }) => ({
  type: "sign-in-options",
  doc: "The available ways to sign in.",
  id: () => "site",
  attributes: {
    password: readOnly(flag(), "Whether users can sign in with a username and password. Always true.", {
      from: () => true,
    }),
    token: readOnly(flag(), "Whether users can sign in with one of their tokens. Always true.", { from: () => true }),
    providers: readOnly(
      z.array(provider),
      "The SSO providers of the site and of the named organization, by name. Open `url` in a browser to sign in.",
      { from: ({ providers }) => providers.map(({ id, name }) => ({ id, name, url: signInPath(id) })) },
    ),
  },
  relationships: {},
  links: () => ({ self: "/api/v2/sign-in-options" }),
  operations: {
    showSignInOptions: {
      method: "GET",
      path: "/sign-in-options",
      summary: "Show the ways to sign in",
      needs: "anyone",
      isPublic: true,
      query: {
        parameters: {
          "filter[organization]": textParameter("The name of an organization, to include its own providers."),
        },
      },
      answer: "document",
    },
  },
}));
