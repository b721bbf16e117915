/** The schema of each release, as listed in test/goldens/releases.txt: the newest migration and a digest of all migrations. Pure. */
import { createHash } from "node:crypto";
import type { Migration } from "../src/database/migrations/migration.ts";

export const releasesPath = "test/goldens/releases.txt";
/** Directory of the backups from `fixture.ts`. */
export const fixturesPath = "test/fixtures/backups";

export interface Release {
  /** 0.2.0 has three entries with dates, because its schema changed before this check existed. */
  readonly version: string;
  readonly newest: string;
  readonly digest: string;
}

export function parseReleases(text: string): Release[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [version = "", newest = "", digest = ""] = line.split(" ");
    return { version, newest, digest };
  });
}

export const formatReleases = (releases: readonly Release[]): string =>
  releases.map(({ version, newest, digest }) => `${version} ${newest} ${digest}\n`).join("");

/** A development version, whose schema can change. */
export const isInDevelopment = (version: string): boolean => version.endsWith("-dev");

/** Compares the numbers only. */
export function isHigher(one: string, other: string): boolean {
  const parts = (version: string) => (/^\d+\.\d+\.\d+/.exec(version)?.[0] ?? "").split(".").map(Number);
  const [a, b] = [parts(one), parts(other)];
  const index = a.findIndex((part, at) => part !== b[at]);
  return index !== -1 && (a[index] ?? 0) > (b[index] ?? 0);
}

/** The release of this version with these migrations. */
export function releaseOf(version: string, migrations: readonly Migration[]): Release {
  const digest = createHash("sha256").update(JSON.stringify(migrations)).digest("hex").slice(0, 16);
  return { version, newest: migrations.at(-1)?.name ?? "", digest };
}

export function schemaFaults(
  version: string,
  migrations: readonly Migration[],
  releases: readonly Release[],
): string[] {
  const faults = releases.flatMap((release) => {
    const upTo = migrations.slice(0, migrations.findIndex(({ name }) => name === release.newest) + 1);
    const isSame = releaseOf(release.version, upTo).digest === release.digest;
    return isSame
      ? []
      : [
          `The migrations up to ${release.newest} are not those that ${release.version} was released with. Undo the change, and add a migration.`,
        ];
  });
  const last = releases.at(-1);
  if (isInDevelopment(version)) {
    if (last !== undefined && !isHigher(version, last.version))
      faults.push(
        `${version} is not higher than the released ${last.version}. Run 'npm version X.Y.Z-dev --no-git-tag-version'.`,
      );
  } else if (last?.version !== version)
    faults.push(
      `${releasesPath} does not list ${version}. Run 'node packaging/cut.ts', or use ${version}-dev until it is released.`,
    );
  else if (last.newest !== migrations.at(-1)?.name)
    faults.push(
      `The schema has changed since ${version} was released, so it needs another version. Run 'npm version X.Y.Z-dev --no-git-tag-version' with the next number.`,
    );
  return faults;
}
