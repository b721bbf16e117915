/** The types of an untyped package, as far as the tests use them. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export interface Account {
    readonly accountId: string;
    claims(): Promise<Record<string, unknown>>;
  }

  export interface Configuration {
    readonly clients: readonly Record<string, unknown>[];
    readonly claims: Record<string, readonly string[]>;
    readonly findAccount: (context: unknown, subject: string) => Account;
    readonly cookies: { readonly keys: readonly string[] };
    readonly features: Record<string, { readonly enabled: boolean }>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): RequestListener;
  }
}
