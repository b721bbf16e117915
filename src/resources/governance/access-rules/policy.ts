/** Parses a rule's policy and validates it against the schema. Some policies take seconds: call `checkPolicy` of `policy-thread.ts`. */
import type { DetailedError } from "@cedar-policy/cedar-wasm/nodejs";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { callCedar, CedarFailure } from "./cedar.ts";
import { cedarSchema } from "./cedar-schema.ts";
import { limitFault, nestingSentence } from "./limits.ts";

export interface ParsedPolicy {
  readonly faults: readonly Fault[];
  /** Of the annotation `@message`. */
  readonly message: string | null;
}

const faultsMax = 10;
const messageLengthMax = 500;

const faultsOf = (sentences: readonly string[]): Fault[] =>
  sentences.map((sentence) => attributeFault("policy", `Policy ${sentence}`));

export const invalidPolicy = (...sentences: readonly string[]): ParsedPolicy => ({
  faults: faultsOf(sentences),
  message: null,
});

export function parsePolicy(text: string): ParsedPolicy {
  const beyondLimit = limitFault(text);
  if (beyondLimit !== undefined) return invalidPolicy(beyondLimit);
  try {
    const parts = callCedar((cedar) => cedar.policySetTextToParts(text));
    if (parts.type === "failure") return invalidPolicy(...cedarSentences(text, parts.errors));
    const { policies, policy_templates: templates } = parts;
    if (templates.length > 0)
      return invalidPolicy("must not be a template: replace `?principal` or `?resource` by an entity");
    const [policy] = policies;
    if (policy === undefined || policies.length > 1)
      return invalidPolicy(`must contain exactly one policy, not ${policies.length}: create a rule for each`);
    const json = callCedar((cedar) => cedar.policyToJson(policy));
    if (json.type === "failure") return invalidPolicy(...cedarSentences(text, json.errors));
    if (json.json.effect !== "forbid")
      return invalidPolicy("must be a `forbid` policy: rules can refuse a change, but not permit one");
    const { message } = json.json.annotations ?? {};
    if (message?.includes("\0"))
      return invalidPolicy("has a @message with a character that can't be stored (U+0000): remove it");
    return {
      faults: faultsOf(validationSentences(text)),
      message: message === undefined || message === null || message === "" ? null : message,
    };
  } catch (error) {
    if (error instanceof CedarFailure) return invalidPolicy(nestingSentence);
    throw error;
  }
}

function validationSentences(text: string): string[] {
  const answer = callCedar((cedar) => cedar.validate({ schema: cedarSchema, policies: { staticPolicies: text } }));
  if (answer.type === "failure") return cedarSentences(text, answer.errors);
  return cedarSentences(
    text,
    answer.validationErrors.map(({ error }) => error),
  );
}

/** Cedar reports an error once for each action and principal, so only the first at each position is shown. */
function cedarSentences(text: string, errors: readonly DetailedError[]): string[] {
  const byPosition = new Map<number, string>();
  for (const error of errors) {
    const start = error.sourceLocations?.[0]?.start ?? 0;
    if (!byPosition.has(start)) byPosition.set(start, sentenceOf(text, start, error));
  }
  const sentences = [...byPosition].toSorted(([one], [other]) => one - other).map(([, sentence]) => sentence);
  return sentences.slice(0, faultsMax);
}

function sentenceOf(text: string, start: number, { message, help, sourceLocations }: DetailedError): string {
  const detail = [message.replace(/^for policy `policy\d+`, /, ""), sourceLocations?.[0]?.label, help]
    .filter((part) => typeof part === "string" && part !== "")
    .join("; ")
    .replaceAll(/for policy `policy\d+`, /g, "");
  const shown = detail.length > messageLengthMax ? `${detail.slice(0, messageLengthMax)}…` : detail;
  const before = Buffer.from(text).subarray(0, start).toString();
  const line = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return `is not valid at line ${line}, column ${column}: ${shown}`;
}
