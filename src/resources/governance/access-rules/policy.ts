/** Parses a rule's policy and validates it against the schema. */
import { attributeFault, type Fault } from "../../../kernel/errors.ts";

export interface ParsedPolicy {
  readonly faults: readonly Fault[];
  /** Of the annotation `@message`. */
  readonly message: string | null;
}

export function parsePolicy(text: string): ParsedPolicy {
  return { faults: text === "" ? [attributeFault("policy", "Policy can't be blank")] : [], message: null };
}
