/** Access rules. Flags are 0 or 1. */

export interface AccessRuleTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  description: string | null;
  /** Cedar text, validated when it was written. */
  policy: string;
  /** The policy's `@message`. */
  message: string | null;
  enforcement: string;
  enabled: number;
  createdAt: string;
  updatedAt: string;
  version: number;
}
