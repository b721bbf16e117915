/** Operations on sign-in options. */
import { implement } from "../../shared/context.ts";
import { listSignInProviders } from "../sso-providers/reads.ts";
import { signInOptions } from "./definition.ts";

export const signInOptionsResource = implement(signInOptions, {
  async showSignInOptions({ context, query }) {
    const providers = await listSignInProviders(context.database.reader, query.filterOrganization);
    return { view: { providers } };
  },
});
