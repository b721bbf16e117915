/** Which ways of signing in there are: what a sign-in page offers to whoever is nobody yet. It tells of no organization that is not named. */
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
  doc: "The ways in which somebody can sign in.",
  id: () => "site",
  attributes: {
    password: readOnly(flag(), "Whether users sign in by name and password. Always true.", { from: () => true }),
    token: readOnly(flag(), "Whether users sign in by a token of theirs. Always true.", { from: () => true }),
    providers: readOnly(
      z.array(provider),
      "The providers of single sign-on, by name: those of the site, and those of the organization that was named. A browser begins at `url`.",
      { from: ({ providers }) => providers.map(({ id, name }) => ({ id, name, url: signInPath(id) })) },
    ),
  },
  relationships: {},
  links: () => ({ self: "/api/v2/sign-in-options" }),
  operations: {
    showSignInOptions: {
      method: "GET",
      path: "/sign-in-options",
      summary: "Show how somebody can sign in",
      needs: "nobody in particular",
      open: true,
      query: {
        parameters: {
          "filter[organization]": textParameter("The name of an organization whose own providers are wanted, too."),
        },
      },
      answer: "document",
    },
  },
}));
