/** Validation and limits of requests that create a state version. */
import { z } from "zod";
import { text } from "../../../jsonapi/schemas.ts";
import { AppError, attributeFault, type Fault } from "../../../kernel/errors.ts";
import { contentBytesMax, md5Of } from "../../shared/contents/contents.ts";

const mebibyte = 1024 * 1024;
export const inRequestBytesMax = 16 * mebibyte;
/** A state and its JSON format, which some engines send together; base64 makes them a third larger. */
export const bodyBytesMax = 2 * Math.ceil((inRequestBytesMax * 4) / 3) + mebibyte;
export const tooLargeMessage = `A state in the request can have at most ${inRequestBytesMax} bytes. Create the state version without 'state', then upload the content with PUT to its 'hosted-state-upload-url', which accepts up to ${contentBytesMax} bytes.`;

export function base64(): z.ZodType<Uint8Array> {
  return z
    .string()
    .transform((sent, context) => {
      const digits = sent.replaceAll(/[\r\n]/g, "").replace(/={1,2}$/, "");
      const bytes = Buffer.from(digits, "base64");
      // The decoder skips invalid characters, so the result is too short.
      if (bytes.length === Math.floor((digits.length * 3) / 4)) return bytes;
      context.addIssue({ code: "custom", message: "must be base64" });
      return z.NEVER;
    })
    .meta({ type: "string", contentEncoding: "base64" }) as unknown as z.ZodType<Uint8Array>;
}

export const md5: z.ZodType<string> = text({
  pattern: /^[0-9a-fA-F]{32}$/,
  sentence: "must be the MD5 of the content as 32 hex digits",
});

interface StateRequestContents {
  readonly state?: Uint8Array;
  readonly jsonState?: Uint8Array | null;
  readonly md5?: string;
}

export function requestFaults({ state, jsonState, md5: announced }: StateRequestContents): Fault[] {
  const faults: Fault[] = [];
  if (state !== undefined && announced !== undefined && md5Of(state) !== announced.toLowerCase())
    faults.push(attributeFault("md5", "Md5 does not match the sent state; send it again"));
  if (state === undefined && jsonState)
    faults.push(attributeFault("json-state", "Json state can't be sent without 'state'"));
  return faults;
}

export function refuseTooLarge({ state, jsonState }: StateRequestContents): void {
  if (Math.max(state?.length ?? 0, jsonState?.length ?? 0) > inRequestBytesMax)
    throw new AppError("too-large", tooLargeMessage);
}
