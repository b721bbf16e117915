/**
 * The tree that an archive's entries make, as far as must be known to judge the next one: what stands under each name, and
 * where links lead. It is where every rule about names and kinds is; nothing here touches a disk.
 *
 * Names are bytes, as text of one character for each.
 */
import { ArchiveFault, limits, shownName } from "./faults.ts";
import type { TarHeader } from "./tar-header.ts";

export type Thing =
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "file"; readonly path: string; readonly size: number; readonly mode: number }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  /** One more name of a file that came before. */
  | { readonly kind: "hard-link"; readonly path: string; readonly target: string };

/** What an entry adds: directories that only its name mentions, from the top, and then itself. */
export interface Addition {
  readonly parents: readonly string[];
  readonly thing: Thing;
  /** Whether something of the same kind stands there already, which it takes the place of. */
  readonly replaces: boolean;
}

type Known = "directory" | "file" | { readonly target: string };

const kindOf = (known: Known): "directory" | "file" | "link" => (typeof known === "string" ? known : "link");

/** As many as file systems follow. */
const hopsMax = 40;
/** For all links of an archive: about ten for each entry that there can be. */
const stepsMax = 500_000;

export class Tree {
  readonly #known = new Map<string, Known>();
  #namesBytes = 0;
  /** From name to name, on the ways of all links. */
  #steps = 0;

  /** Undefined for the root itself. Raises `ArchiveFault`. */
  add(entry: TarHeader): Addition | undefined {
    const segments = segmentsOf(entry.name);
    const path = segments.join("/");
    if (path === "") {
      if (entry.type === "5") return undefined;
      throw new ArchiveFault("name_invalid", "The archive has a file or link without a name.");
    }
    refuseName(entry.name, segments);
    const thing = this.#thingOf(entry, path);
    const parents = this.#addParents(path);
    const replaces = this.#place(thing);
    return { parents, thing, replaces };
  }

  /** To be called when all entries are there: what a link leads to may come after it. Raises `ArchiveFault`. */
  end(): void {
    for (const [path, known] of this.#known) if (typeof known !== "string") this.#follow(path, known.target);
  }

  /** Whether a path is one of the root's, and a plain file. */
  isFile(path: string): boolean {
    return this.#known.get(path) === "file";
  }

  /** Goes up only as far as nothing is known: each step is a directory more, and so they are few. */
  #addParents(path: string): string[] {
    const missing: string[] = [];
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const parent = path.slice(0, end);
      const known = this.#known.get(parent);
      if (known === "directory") break;
      if (known !== undefined) throw belowOther(path, kindOf(known));
      missing.push(parent);
    }
    missing.reverse();
    for (const parent of missing) this.#remember(parent, "directory");
    return missing;
  }

  #place(thing: Thing): boolean {
    const { kind, path } = thing;
    const known = this.#known.get(path);
    const next: Known = kind === "directory" ? kind : kind === "link" ? { target: thing.target } : "file";
    if (known !== undefined && kindOf(known) !== kindOf(next))
      throw new ArchiveFault(
        "kind_changed",
        `The archive has ${shownName(path)} twice, once as a ${kindOf(known)} and once as a ${kindOf(next)}.`,
      );
    this.#remember(path, next);
    return known !== undefined;
  }

  #remember(path: string, known: Known): void {
    this.#known.set(path, known);
    this.#namesBytes += path.length + (typeof known === "string" ? 0 : known.target.length);
    if (this.#known.size > limits.entries)
      throw new ArchiveFault(
        "too_many_entries",
        `The archive has more than ${limits.entries} files, links and directories. Leave out what the configuration does not need, with a '.terraformignore' for example.`,
      );
    if (this.#namesBytes > limits.allNamesBytes)
      throw new ArchiveFault(
        "names_too_long",
        `The names in the archive have together more than ${limits.allNamesBytes} bytes.`,
      );
  }

  #thingOf(entry: TarHeader, path: string): Thing {
    const { type, mode, size, linkName } = entry;
    switch (type) {
      case "5":
        // Bits for groups are common on directories, and are left away when it is unpacked.
        return { kind: "directory", path };
      case "0":
        if ((mode & 0o6000) !== 0)
          throw new ArchiveFault(
            "set_user_id",
            `The file ${shownName(path)} would run as its owner or group (mode ${(mode & 0o7777).toString(8)}). Take that bit away with 'chmod ug-s'.`,
          );
        return { kind: "file", path, mode: mode & 0o777, size };
      case "2":
        refuseTarget(path, linkName);
        return { kind: "link", path, target: linkName };
      case "1":
        return { kind: "hard-link", path, target: this.#sameFile(path, linkName) };
      case "3":
      case "4":
      case "6":
        throw new ArchiveFault(
          "special_file",
          `The entry ${shownName(path)} is a device or a pipe. An archive can have files, directories and links.`,
        );
      default:
        throw new ArchiveFault(
          "unsupported_entry",
          `The entry ${shownName(path)} is of a kind that is not supported (${shownName(type)}). An archive can have files, directories and links.`,
        );
    }
  }

  /** The file that a hard link is another name of: one that came before it. */
  #sameFile(path: string, linkName: string): string {
    const segments = linkName.startsWith("/") ? [".."] : segmentsOf(linkName);
    const target = segments.join("/");
    if (!segments.includes("..") && target !== path && this.isFile(target)) return target;
    throw new ArchiveFault(
      "hard_link_outside",
      `The hard link ${shownName(path)} is not one to a file that came before it in the archive.`,
    );
  }

  /** Goes where a link leads, through other links too, as a file system would. */
  #follow(link: string, firstTarget: string): void {
    const ahead = firstTarget.split("/").toReversed();
    const at = link.split("/").slice(0, -1);
    let hops = 0;
    while (ahead.length > 0) {
      const segment = ahead.pop()!;
      this.#steps += 1;
      if (hops > hopsMax || this.#steps > stepsMax)
        throw new ArchiveFault(
          "link_circle",
          `The link ${shownName(link)} leads in a circle, or through too many others.`,
        );
      if (segment === "" || segment === ".") continue;
      if (segment === "..") {
        if (at.pop() === undefined) throw leadsOut(link, firstTarget);
        continue;
      }
      at.push(segment);
      // Nothing of the archive is deeper.
      const known = at.length > limits.depth ? undefined : this.#known.get(at.join("/"));
      if (known === undefined || typeof known === "string") continue;
      hops += 1;
      at.pop();
      ahead.push(...known.target.split("/").toReversed());
    }
  }
}

const belowOther = (path: string, kind: string): ArchiveFault =>
  kind === "file"
    ? new ArchiveFault("below_file", `The entry ${shownName(path)} lies below a file.`)
    : new ArchiveFault("below_link", `The entry ${shownName(path)} lies below a link, and could be written anywhere.`);

const leadsOut = (link: string, target: string): ArchiveFault =>
  new ArchiveFault(
    "link_outside",
    `The link ${shownName(link)} leads out of the archive, to ${shownName(target)}. Put what it leads to into the archive, and make the link a relative one.`,
  );

function segmentsOf(name: string): string[] {
  return name.split("/").filter((segment) => segment !== "" && segment !== ".");
}

function refuseName(name: string, segments: readonly string[]): void {
  const shown = shownName(name);
  if (name.includes("\0")) throw new ArchiveFault("name_invalid", `The name ${shown} has a zero byte in it.`);
  if (name.startsWith("/"))
    throw new ArchiveFault("name_absolute", `The name ${shown} is absolute. Pack the directory with relative names.`);
  if (segments.includes(".."))
    throw new ArchiveFault("name_outside", `The name ${shown} leads out of the archive by '..'.`);
  if (name.length > limits.nameBytes || segments.some((segment) => segment.length > limits.segmentBytes))
    throw new ArchiveFault(
      "name_too_long",
      `The name ${shown} is too long: it can have ${limits.nameBytes} bytes, and ${limits.segmentBytes} between two slashes.`,
    );
  if (segments.length > limits.depth)
    throw new ArchiveFault("too_deep", `The name ${shown} is more than ${limits.depth} levels deep.`);
}

function refuseTarget(path: string, target: string): void {
  if (target === "" || target.includes("\0"))
    throw new ArchiveFault(
      "name_invalid",
      `The link ${shownName(path)} leads nowhere: its target is empty or has a zero byte.`,
    );
  if (target.startsWith("/")) throw leadsOut(path, target);
  if (target.length > limits.nameBytes)
    throw new ArchiveFault(
      "name_too_long",
      `The target of the link ${shownName(path)} is longer than ${limits.nameBytes} bytes.`,
    );
}
