/** What variables and their sets are for, in words. */
import { z } from "zod";
import { text } from "../../jsonapi/schemas.ts";

export const descriptionMax = 512;

/** There always is one: null is taken as empty. */
export const description = text({ max: descriptionMax })
  .nullable()
  .transform((sent) => sent ?? "")
  .pipe(z.string()) as unknown as z.ZodType<string>;
