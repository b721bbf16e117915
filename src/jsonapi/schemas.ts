/** Schemas of attributes, with error messages as the end of a sentence. Must not set defaults, which would reset attributes on PATCH. */
import { z } from "zod";
import { lengthOf } from "../kernel/text.ts";
import { parseTimestamp } from "../kernel/time.ts";

interface TextRules {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
  readonly sentence?: string;
}

const defaultTextMax = 4096;

export function text({ min = 0, max = defaultTextMax, pattern, sentence }: TextRules = {}): z.ZodType<string> {
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

const acceptingBlank = new WeakSet<z.ZodType>();

/** Clients written in Go send "" for attributes that are not set. See docs/api.md#requests. */
export function nullIfBlank(schema: z.ZodType<string>): z.ZodType<string | null> {
  const read = z.preprocess((value) => (value === "" ? null : value), schema.nullable());
  acceptingBlank.add(read);
  return read;
}

export function acceptsBlank(schema: z.core.$ZodType): boolean {
  return acceptingBlank.has(schema as z.ZodType);
}

export const reference: () => z.ZodType<string | null> = () => nullIfBlank(text({ min: 1, max: 256 }));

export const flag: () => z.ZodType<boolean> = () => z.boolean();

export const neverTrue = (why: string): z.ZodType<boolean> =>
  z.boolean().refine((value) => !value, { error: `can't be true: ${why}` });

const defaultWholeNumberMax = 2_147_483_647;

export function wholeNumber({ min = 0, max = defaultWholeNumberMax } = {}): z.ZodType<number> {
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

/** Accepts any time zone, and stores UTC with milliseconds. */
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

export function flags<const Names extends readonly string[]>(
  names: Names,
): z.ZodType<Partial<Record<Names[number], boolean>>> {
  return z.object(Object.fromEntries(names.map((name) => [name, z.boolean().optional()]))) as never;
}
