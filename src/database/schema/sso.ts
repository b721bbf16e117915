/** Single sign-on: who is known elsewhere, and by whose word. */

export interface SsoProviderTable {
  id: string;
  /** Null for one of the whole site. */
  organizationId: string | null;
  name: string;
  nameKey: string;
  issuer: string;
  clientId: string;
  /** Sealed. */
  clientSecret: Uint8Array;
  /** With spaces between them. */
  scopes: string;
  /** Null where nothing is made of groups. */
  groupsClaim: string | null;
  createUsers: number;
  assumeEmailVerified: number;
  createdAt: string;
  version: number;
}

/** Who somebody at a provider is here. */
export interface SsoIdentityTable {
  ssoProviderId: string;
  issuer: string;
  subject: string;
  userId: string;
  createdAt: string;
}

/** By which provider a session began. */
export interface SsoSessionTable {
  tokenId: string;
  ssoProviderId: string;
  /** Where to sign out at the provider, sealed; null where it offers no such place. */
  signOutUrl: Uint8Array | null;
}

/** Ways back from a provider that were gone already. */
export interface SsoReplyTable {
  hash: string;
  expiresAt: string;
}
