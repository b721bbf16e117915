/** Opens the place that `CADASTRE_CONTENTS` names, and refuses one that does not fit the register. */
import type { BaseLogger } from "pino";
import type { Database } from "./database/database.ts";
import { AppError } from "./kernel/errors.ts";
import { SettingError } from "./kernel/settings.ts";
import { counted } from "./kernel/text.ts";
import { type ContentsAddress, type PlaceAddress, placeName } from "./object-store/address.ts";
import { ObjectStoreError } from "./object-store/object-store.ts";
import { S3Store } from "./object-store/s3.ts";
import { ContentPlace } from "./resources/shared/contents/content-place.ts";
import { countOutside } from "./resources/shared/contents/contents.ts";
import { contentRequests } from "./resources/shared/process-events.ts";

export interface ContentsSettings {
  readonly contents: ContentsAddress;
  readonly contentsKeepDays: number;
}

type PlaceLogger = Pick<BaseLogger, "info" | "warn" | "error">;

/** Sends no request. Undefined for the database. */
export function openPlace(
  { contents, contentsKeepDays }: ContentsSettings,
  logger?: PlaceLogger,
): ContentPlace | undefined {
  if (contents === "database") return undefined;
  const store = new S3Store(contents, {
    onRequest(request) {
      contentRequests.publish(request);
      if (request.result !== "ok") place.noteFailure(request.operation, request.result);
    },
  });
  const { prefix } = contents;
  const place = new ContentPlace({ store, name: placeName(contents), prefix, keepDays: contentsKeepDays, logger });
  return place;
}

/** Claims the place. Throws SettingError; an unreachable store is only logged, or reported to `warn`. */
export async function startPlace(
  { contents }: Pick<ContentsSettings, "contents">,
  place: ContentPlace | undefined,
  database: Database,
  warn: (sentence: string) => void,
): Promise<void> {
  await requireContentsAt(contents, database);
  if (contents === "database" || place === undefined) return;
  let failure: ObjectStoreError | undefined;
  try {
    failure = await place.start(database);
  } catch (error) {
    if (error instanceof ObjectStoreError) throw refusal(contents, error);
    if (error instanceof AppError) throw new SettingError(`CADASTRE_CONTENTS can't be used. ${error.message}`);
    throw error;
  }
  if (failure !== undefined)
    warn(
      `The object store of CADASTRE_CONTENTS can't be reached (${failure.message}). States, plans and logs in it are unavailable until it can; everything else works.`,
    );
}

/** Throws SettingError if contents are in a place that the setting does not name. */
async function requireContentsAt(contents: ContentsAddress, database: Database): Promise<void> {
  const here = contents === "database" ? undefined : placeName(contents);
  const outside = await countOutside(database.reader, here);
  if (outside === undefined) return;
  throw new SettingError(
    `CADASTRE_CONTENTS is ${here ?? "database"}, but ${counted(outside.count, "content")} of this register ${outside.count === 1 ? "is" : "are"} in ${outside.place}. Set CADASTRE_CONTENTS to that place; to leave it, run 'cadastre contents move --to database' first.`,
  );
}

const regionCodes = ["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"];

function refusal({ bucket, region }: PlaceAddress, { code, message }: ObjectStoreError): SettingError {
  if (code === "NoSuchBucket")
    return new SettingError(
      `CADASTRE_CONTENTS names the bucket '${bucket}', which does not exist (${message}). Create it, or name another one.`,
    );
  if (regionCodes.includes(code) || /region/i.test(message))
    return new SettingError(
      `CADASTRE_CONTENTS has the wrong region, ${region ?? "none"} (${message}). Set the bucket's region with ?region=REGION.`,
    );
  if (/credential/i.test(code))
    return new SettingError(
      `CADASTRE_CONTENTS needs credentials for the bucket '${bucket}', and there are none (${message}). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or another source of credentials that the AWS SDK knows.`,
    );
  return new SettingError(
    `CADASTRE_CONTENTS can't be used: the object store refuses the credentials for the bucket '${bucket}' (${message}). Check the credentials and what they allow.`,
  );
}
