/** Single sign-on: providers, and the identities of users there. */

export interface SsoProviderTable {
  id: string;
  organizationId: string | null;
  name: string;
  nameKey: string;
  issuer: string;
  clientId: string;
  clientSecret: Uint8Array;
  /** Separated by spaces. */
  scopes: string;
  groupsClaim: string | null;
  createUsers: number;
  assumeEmailVerified: number;
  createdAt: string;
  version: number;
}

export interface SsoIdentityTable {
  ssoProviderId: string;
  issuer: string;
  subject: string;
  userId: string;
  createdAt: string;
}

export interface SsoSessionTable {
  tokenId: string;
  ssoProviderId: string;
  signOutUrl: Uint8Array | null;
}

export interface SsoReplyTable {
  hash: string;
  expiresAt: string;
}
