/** Why the endpoint of tokens gives none: in the words of OAuth, and in a sentence. */

export type GrantFaultCode = "invalid_request" | "invalid_client" | "invalid_grant" | "unsupported_grant_type";

export class GrantFault extends Error {
  override readonly name = "GrantFault";
  readonly code: GrantFaultCode;

  constructor(code: GrantFaultCode, sentence: string) {
    super(sentence);
    this.code = code;
  }
}
