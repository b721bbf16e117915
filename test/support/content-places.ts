/** Places in an object store for test servers. With `CADASTRE_TEST_CONTENTS=s3`, every server keeps its contents in one. */
import { randomBytes } from "node:crypto";
import { openPlace, startPlace } from "../../src/contents.ts";
import type { Database } from "../../src/database/database.ts";
import { parseContents } from "../../src/object-store/address.ts";
import type { ContentPlace } from "../../src/resources/shared/contents/content-place.ts";
import { type ObjectServer, startObjectServer, storeCredentials } from "./object-store.ts";

export async function newPlace(address: string, database: Database, contentsKeepDays = 7): Promise<ContentPlace> {
  Object.assign(process.env, storeCredentials);
  const settings = { contents: parseContents(address), contentsKeepDays };
  const place = openPlace(settings);
  if (place === undefined) throw new Error("the address names the database");
  await startPlace(settings, place, database, () => {});
  return place;
}

let server: Promise<ObjectServer> | undefined;

/** Undefined unless this run tests existing suites with contents in an object store. */
export async function placeOfRun(database: Database): Promise<ContentPlace | undefined> {
  if (process.env["CADASTRE_TEST_CONTENTS"] !== "s3") return undefined;
  server ??= startObjectServer();
  return newPlace((await server).address(randomBytes(4).toString("hex")), database);
}
