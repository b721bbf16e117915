/** Validates the names, kinds and links of an archive's entries in order. It does not access the disk. */
import { ArchiveFault, limits, shownName } from "./faults.ts";
import type { TarHeader } from "./tar-header.ts";

export type ArchiveEntry =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly size: number; readonly mode: number }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | { readonly kind: "hard-link"; readonly path: string; readonly target: string };

/** `parents` are the missing directories, outermost first. */
export interface TreeAddition {
  readonly parents: readonly string[];
  readonly entry: ArchiveEntry;
  readonly replaces: boolean;
}

type KnownEntry = "directory" | "file" | { readonly target: string };

const kindOf = (known: KnownEntry): "directory" | "file" | "link" => (typeof known === "string" ? known : "link");

/** The limit of common file systems. */
const linksMax = 40;
/** For all links of an archive together. */
const stepsMax = 500_000;

export class ArchiveTree {
  readonly #known = new Map<string, KnownEntry>();
  #namesBytes = 0;
  #steps = 0;

  /** Undefined for the root directory. Throws `ArchiveFault`. */
  add(header: TarHeader): TreeAddition | undefined {
    const segments = segmentsOf(header.name);
    const path = segments.join("/");
    if (path === "") {
      if (header.type === "5") return undefined;
      throw new ArchiveFault("name_invalid", "The archive has a file or link without a name. Pack it again.");
    }
    refuseName(header.name, segments);
    const entry = this.#entryOf(header, path);
    const parents = this.#addParents(path);
    const replaces = this.#addEntry(entry);
    return { parents, entry, replaces };
  }

  /** Follows links only now, because a target may come after its link. Throws `ArchiveFault`. */
  end(): void {
    for (const [path, known] of this.#known) if (typeof known !== "string") this.#follow(path, known.target);
  }

  isFile(path: string): boolean {
    return this.#known.get(path) === "file";
  }

  /** Stops at the first known directory to bound the total cost by the number of directories. */
  #addParents(path: string): string[] {
    const missing: string[] = [];
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const parent = path.slice(0, end);
      const known = this.#known.get(parent);
      if (known === "directory") break;
      if (known !== undefined) throw nestedEntryFault(path, kindOf(known));
      missing.push(parent);
    }
    missing.reverse();
    for (const parent of missing) this.#remember(parent, "directory");
    return missing;
  }

  #addEntry(entry: ArchiveEntry): boolean {
    const { kind, path } = entry;
    const known = this.#known.get(path);
    const next: KnownEntry = kind === "directory" ? kind : kind === "link" ? { target: entry.target } : "file";
    if (known !== undefined && kindOf(known) !== kindOf(next))
      throw new ArchiveFault(
        "kind_changed",
        `The archive has ${shownName(path)} twice, as a ${kindOf(known)} and as a ${kindOf(next)}. Pack it again with only one of them.`,
      );
    this.#remember(path, next);
    return known !== undefined;
  }

  #remember(path: string, known: KnownEntry): void {
    this.#known.set(path, known);
    this.#namesBytes += path.length + (typeof known === "string" ? 0 : known.target.length);
    if (this.#known.size > limits.entries)
      throw new ArchiveFault(
        "too_many_entries",
        `The archive has more than ${limits.entries} files, links and directories. Leave out files that the configuration does not need, for example with a '.terraformignore' file.`,
      );
    if (this.#namesBytes > limits.allNamesBytes)
      throw new ArchiveFault(
        "names_too_long",
        `The names in the archive exceed ${limits.allNamesBytes} bytes in total. Leave out files that the configuration does not need, for example with a '.terraformignore' file.`,
      );
  }

  #entryOf(header: TarHeader, path: string): ArchiveEntry {
    const { type, mode, size, linkName } = header;
    switch (type) {
      case "5":
        // Setgid bits are common on directories; unpacking ignores them.
        return { kind: "directory", path };
      case "0":
        if ((mode & 0o6000) !== 0)
          throw new ArchiveFault(
            "set_user_id",
            `The file ${shownName(path)} has the setuid or setgid bit (mode ${(mode & 0o7777).toString(8)}). Remove it with 'chmod ug-s'.`,
          );
        return { kind: "file", path, mode: mode & 0o777, size };
      case "2":
        refuseTarget(path, linkName);
        return { kind: "link", path, target: linkName };
      case "1":
        return { kind: "hard-link", path, target: this.#hardLinkTarget(path, linkName) };
      case "3":
      case "4":
      case "6":
        throw new ArchiveFault(
          "special_file",
          `The entry ${shownName(path)} is a device or a pipe. An archive can only have files, directories and links.`,
        );
      default:
        throw new ArchiveFault(
          "unsupported_entry",
          `The entry ${shownName(path)} has an unsupported type (${shownName(type)}). An archive can only have files, directories and links.`,
        );
    }
  }

  /** The target must be an earlier file. */
  #hardLinkTarget(path: string, linkName: string): string {
    const segments = linkName.startsWith("/") ? [".."] : segmentsOf(linkName);
    const target = segments.join("/");
    if (!segments.includes("..") && target !== path && this.isFile(target)) return target;
    throw new ArchiveFault(
      "hard_link_outside",
      `The hard link ${shownName(path)} does not refer to an earlier file in the archive. Pack it with its target.`,
    );
  }

  #follow(link: string, firstTarget: string): void {
    const remaining = firstTarget.split("/").toReversed();
    const current = link.split("/").slice(0, -1);
    let linkCount = 0;
    while (remaining.length > 0) {
      const segment = remaining.pop()!;
      this.#steps += 1;
      if (linkCount > linksMax || this.#steps > stepsMax)
        throw new ArchiveFault(
          "link_circle",
          `The link ${shownName(link)} is circular, or leads through too many other links. Remove or shorten it.`,
        );
      if (segment === "" || segment === ".") continue;
      if (segment === "..") {
        if (current.pop() === undefined) throw outsideLinkFault(link, firstTarget);
        continue;
      }
      current.push(segment);
      // No entry is deeper than this.
      const known = current.length > limits.depth ? undefined : this.#known.get(current.join("/"));
      if (known === undefined || typeof known === "string") continue;
      linkCount += 1;
      current.pop();
      remaining.push(...known.target.split("/").toReversed());
    }
  }
}

const nestedEntryFault = (path: string, kind: string): ArchiveFault =>
  kind === "file"
    ? new ArchiveFault("below_file", `The entry ${shownName(path)} is inside a file. Pack the directory again.`)
    : new ArchiveFault(
        "below_link",
        `The entry ${shownName(path)} is inside a link, so it could be written outside of the directory. Pack the directory that the link leads to instead.`,
      );

const outsideLinkFault = (link: string, target: string): ArchiveFault =>
  new ArchiveFault(
    "link_outside",
    `The link ${shownName(link)} leads out of the archive, to ${shownName(target)}. Add its target to the archive and use a relative link.`,
  );

function segmentsOf(name: string): string[] {
  return name.split("/").filter((segment) => segment !== "" && segment !== ".");
}

function refuseName(name: string, segments: readonly string[]): void {
  const shown = shownName(name);
  if (name.includes("\0")) throw new ArchiveFault("name_invalid", `The name ${shown} contains a zero byte.`);
  if (name.startsWith("/"))
    throw new ArchiveFault("name_absolute", `The name ${shown} is absolute. Pack the directory with relative names.`);
  if (segments.includes(".."))
    throw new ArchiveFault(
      "name_outside",
      `The name ${shown} leads out of the archive with '..'. Pack the directory with names below it.`,
    );
  if (name.length > limits.nameBytes || segments.some((segment) => segment.length > limits.segmentBytes))
    throw new ArchiveFault(
      "name_too_long",
      `The name ${shown} is too long. A name can have ${limits.nameBytes} bytes, and ${limits.segmentBytes} between slashes.`,
    );
  if (segments.length > limits.depth)
    throw new ArchiveFault(
      "too_deep",
      `The name ${shown} is more than ${limits.depth} levels deep. Move the file to a higher directory.`,
    );
}

function refuseTarget(path: string, target: string): void {
  if (target === "" || target.includes("\0"))
    throw new ArchiveFault(
      "name_invalid",
      `The link ${shownName(path)} is invalid: its target is empty or contains a zero byte.`,
    );
  if (target.startsWith("/")) throw outsideLinkFault(path, target);
  if (target.length > limits.nameBytes)
    throw new ArchiveFault(
      "name_too_long",
      `The target of the link ${shownName(path)} is longer than ${limits.nameBytes} bytes.`,
    );
}
