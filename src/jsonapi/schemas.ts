/**
 * The shapes of attributes: zod schemas that say what is wrong as the end of a sentence ("is too short …"), and what they
 * demand as JSON Schema, so that the OpenAPI document tells the same. Defaults never stand here (they would reset fields
 * on PATCH); they stand beside the attribute.
 */
import { z } from "zod";
import { lengthOf } from "../kernel/text.ts";
import { parseTimestamp } from "../kernel/time.ts";

interface TextRules {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
  /** What the pattern means, as the end of a sentence. */
  readonly sentence?: string;
}

const textMaxByDefault = 4096;

/** A string. Its length counts code points and is always bounded. */
export function text({ min = 0, max = textMaxByDefault, pattern, sentence }: TextRules = {}): z.ZodType<string> {
  return z
    .string()
    .superRefine((value, context) => {
      const length = lengthOf(value);
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      if (length === 0 && min > 0) return refuse("can't be blank");
      if (length < min) refuse(`is too short (minimum is ${min} characters)`);
      if (length > max) refuse(`is too long (maximum is ${max} characters)`);
      if (pattern !== undefined && !pattern.test(value)) refuse(sentence ?? "has an incorrect format");
    })
    .meta({
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      ...(pattern !== undefined && { pattern: pattern.source }),
    });
}

const blanks = new WeakSet<z.ZodType>();

/**
 * Blank is null, where clients written in Go send "" for what they do not set; everywhere else blank is blank. See
 * docs/decisions/0065-blank-is-null-where-go-clients-send-it.md.
 */
export function nullIfBlank(schema: z.ZodType<string>): z.ZodType<string | null> {
  const read = z.preprocess((value) => (value === "" ? null : value), schema.nullable());
  blanks.add(read);
  return read;
}

/** Whether a schema is one of those: the OpenAPI document tells it. */
export function takesBlank(schema: z.core.$ZodType): boolean {
  return blanks.has(schema as z.ZodType);
}

/** The id of another thing, or none. */
export const reference: () => z.ZodType<string | null> = () => nullIfBlank(text({ min: 1, max: 256 }));

export const flag: () => z.ZodType<boolean> = () => z.boolean();

/** Of something that clients can ask for and the service does not have: without it, it would seem to be there. */
export const neverTrue = (why: string): z.ZodType<boolean> =>
  z.boolean().refine((value) => !value, { error: `can't be true: ${why}` });

const wholeNumberMaxByDefault = 2_147_483_647;

export function wholeNumber({ min = 0, max = wholeNumberMaxByDefault } = {}): z.ZodType<number> {
  return z
    .number()
    .refine((value) => Number.isSafeInteger(value) && value >= min && value <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .meta({ type: "integer", minimum: min, maximum: max });
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values): z.ZodType<Values[number]> {
  return z.enum(values) as unknown as z.ZodType<Values[number]>;
}

/** An instant; whatever zone it was written in, it comes out as UTC with milliseconds. */
export function timestamp(): z.ZodType<string> {
  return z
    .string()
    .transform((value, context) => {
      const instant = parseTimestamp(value);
      if (instant === undefined) {
        context.addIssue({ code: "custom", message: "must be a timestamp such as 2030-01-31T12:00:00Z" });
        return z.NEVER;
      }
      return instant;
    })
    .meta({ type: "string", format: "date-time" }) as unknown as z.ZodType<string>;
}

/** An object of booleans; each may be left out. */
export function flags<const Names extends readonly string[]>(
  names: Names,
): z.ZodType<Partial<Record<Names[number], boolean>>> {
  return z.object(Object.fromEntries(names.map((name) => [name, z.boolean().optional()]))) as never;
}
