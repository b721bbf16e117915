/** Parses `CADASTRE_CONTENTS`: the database, or a place in an object store. */
import { SettingError } from "../kernel/settings.ts";

/** Bucket and prefix are the place; the rest says how to reach it. */
export interface PlaceAddress {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  readonly isPathStyle: boolean;
}

export type ContentsAddress = "database" | PlaceAddress;

const shape = "database or s3://BUCKET[/PREFIX]?region=REGION&endpoint=URL&path-style=true";
const parameters = ["region", "endpoint", "path-style"];

/** As contents store it. */
export const placeName = ({ bucket, prefix }: PlaceAddress): string =>
  `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;

/** Throws SettingError with the end of a sentence that begins with the setting's name. */
export function parseContents(text: string): ContentsAddress {
  if (text === "database") return text;
  const [, bucket, path = "", query = ""] = /^s3:\/\/([^/?#@:]+)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text) ?? [];
  if (bucket === undefined) throw new SettingError(`must be ${shape}. Credentials are not part of it.`);
  if (!/^[a-z0-9A-Z][a-zA-Z0-9._-]{1,254}$/.test(bucket))
    throw new SettingError(`names the bucket '${bucket}', which is not a bucket's name. Use ${shape}.`);
  const given = new URLSearchParams(query);
  const unknown = [...given.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined)
    throw new SettingError(`has the unknown parameter '${unknown}'. Use only ${parameters.join(", ")}.`);
  const repeated = parameters.find((name) => given.getAll(name).length > 1);
  if (repeated !== undefined) throw new SettingError(`has the parameter '${repeated}' more than once. Give it once.`);
  return {
    bucket,
    prefix: parsePrefix(path),
    region: given.get("region") || undefined,
    endpoint: parseEndpoint(given.get("endpoint")),
    isPathStyle: parseFlag(given.get("path-style")),
  };
}

function parsePrefix(path: string): string {
  const prefix = path.replaceAll(/^\/+|\/+$/g, "");
  if (!/^[\w.!*'()/-]{0,512}$/.test(prefix) || prefix.split("/").some((part) => /^\.*$/.test(part) && prefix !== ""))
    throw new SettingError(
      "has a prefix that can't be used. Use letters, digits, '-', '_' and '.' between single slashes.",
    );
  return prefix;
}

function parseEndpoint(text: string | null): string | undefined {
  if (text === null || text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== "" ||
    url.hash !== "" ||
    url.username !== ""
  )
    throw new SettingError(
      "must have an http or https URL without a query as its endpoint, such as https://s3.example.",
    );
  return text.replace(/\/+$/, "");
}

function parseFlag(text: string | null): boolean {
  if (text === null || text === "false") return false;
  if (text !== "true") throw new SettingError("must have true or false as its path-style.");
  return true;
}
