import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ArchiveFault } from "../../src/archive/faults.ts";
import { unpack } from "../../src/archive/unpack.ts";
import { archive, type Entry, inPieces, pax, tar } from "../support/archives.ts";
import { deep, seed } from "../support/depth.ts";
import { newFolder } from "../support/folder.ts";
import { itInGate } from "../support/engine-independent.ts";

let folder: string;
beforeEach(() => {
  folder = newFolder("cadastre-archive-");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const into = (name = "root") => join(folder, name);
const unpacked = (bytes: Uint8Array, pieces = 1000, name = "root") => unpack(inPieces(bytes, pieces), into(name));
const main: Entry = { name: "main.tf", content: "a\n" };
const link = (name: string, target: string): Entry => ({ name, type: "2", target });

/** Everything below a folder, without following links, two of which could form a loop. */
function treeOf(root: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const name = join(below, entry.name);
    if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(join(root, name))}`;
    else if (entry.isDirectory()) Object.assign(found, { [name]: "/" }, treeOf(root, name));
    else found[name] = readFileSync(join(root, name), "utf8");
  }
  return found;
}

describe("unpack", () => {
  it("files, directories, links and hard links, in pieces cut anywhere", async () => {
    const parts: (Entry | Buffer)[] = [
      { name: "./", type: "5" },
      link("first.tf", "modules/a/main.tf"),
      { name: "modules/", type: "5" },
      { name: "modules/a/main.tf", content: "deep\n" },
      main,
      { name: "hard.tf", type: "1", target: "main.tf" },
      { name: "empty", type: "5" },
      { name: "nothing.tf", content: "" },
      pax({ path: `${"long-".repeat(40)}/ä.tf` }),
      { ...main, content: "c".repeat(100_000) },
    ];
    for (const pieces of [1, 513, 1_000_000]) {
      const name = `root-${pieces}`;
      const bytes = archive(parts);
      expect(await unpacked(bytes, pieces, name)).toEqual({
        packedBytes: bytes.length,
        unpackedBytes: tar(parts).length,
      });
      expect(treeOf(into(name))).toEqual({
        "first.tf": "-> modules/a/main.tf",
        modules: "/",
        "modules/a": "/",
        "modules/a/main.tf": "deep\n",
        "main.tf": "a\n",
        "hard.tf": "a\n",
        empty: "/",
        "nothing.tf": "",
        ["long-".repeat(40)]: "/",
        [`${"long-".repeat(40)}/ä.tf`]: "c".repeat(100_000),
      });
      expect(readFileSync(join(into(name), "first.tf"), "utf8")).toBe("deep\n");
    }
  });

  it("keeps the later of two files of one name, also if the first has a hard link", async () => {
    await unpacked(
      archive([
        main,
        { name: "b", type: "1", target: "main.tf" },
        { ...main, content: "later" },
        link("c", "b"),
        link("c", "main.tf"),
      ]),
    );
    expect(treeOf(into())).toEqual({ "main.tf": "later", b: "a\n", c: "-> main.tf" });
  });

  it("keeps permissions to read and execute, and never lets others write", async () => {
    const modes = [0o777, 0o644, 0o600, 0o000, 0o755, 0o1666];
    await unpacked(
      archive([
        ...modes.map((mode) => ({ name: `f${mode.toString(8)}`, mode })),
        { name: "d", type: "5", mode: 0o6777 },
      ]),
    );
    const found = Object.fromEntries(
      readdirSync(into()).map((name) => [name, (statSync(join(into(), name)).mode & 0o7777).toString(8)]),
    );
    const umask = process.umask();
    const expected = { f777: 0o755, f644: 0o644, f600: 0o600, f0: 0o600, f755: 0o755, f1666: 0o644, d: 0o755 };
    expect(found).toEqual(
      Object.fromEntries(Object.entries(expected).map(([name, mode]) => [name, (mode & ~umask).toString(8)])),
    );
  });

  it("keeps the bytes of names", async () => {
    const name = Buffer.from([0x61, 0xe4, 0x2e, 0x74, 0x66]);
    await unpacked(archive([{ ...main, name }]));
    expect(readdirSync(into(), { encoding: "buffer" })).toEqual([name]);
  });

  it("uses an existing empty directory", async () => {
    mkdirSync(into());
    await unpacked(archive([main]));
    expect(treeOf(into())).toEqual({ "main.tf": "a\n" });
  });

  it.each([
    [
      "a directory with something in it",
      () => (mkdirSync(into()), writeFileSync(join(into(), "x"), "")),
      /is not empty/,
    ],
    ["a link to a directory", () => (mkdirSync(into("other")), symlinkSync("other", into())), /is not a directory/],
    ["a file", () => writeFileSync(into(), ""), /is not a directory/],
  ])("refuses to go into %s", async (_title, prepare, sentence) => {
    prepare();
    await expect(unpacked(archive([main]))).rejects.toThrow(sentence);
  });

  it("raises the errors of its source", async () => {
    async function* broken() {
      yield archive([main]).subarray(0, 40);
      throw new Error("the wire was cut");
    }
    await expect(unpack(broken(), into())).rejects.toThrow("the wire was cut");
  });

  it("unpacks what GNU tar packed, if it is installed", async () => {
    const source = into("source");
    mkdirSync(join(source, "a".repeat(120), "b".repeat(120)), { recursive: true });
    writeFileSync(join(source, "a".repeat(120), "b".repeat(120), "ü.tf"), "x");
    symlinkSync(`${"a".repeat(120)}/${"b".repeat(120)}`, join(source, "link"));
    for (const format of ["gnu", "pax", "oldgnu"]) {
      let bytes: Buffer;
      try {
        bytes = execFileSync("tar", ["-C", source, `--format=${format}`, "-c", "."], {
          maxBuffer: 1e8,
          stdio: ["ignore", "pipe", "ignore"],
        });
      } catch {
        return;
      }
      await unpacked(gzipSync(bytes), 700, format);
      expect(treeOf(into(format))).toEqual(treeOf(source));
    }
  });
});

/** Names that collide, and some that try to leave the directory. */
const segment = fc.constantFrom("a", "b", "c", "..", ".", "");
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));
const hostile: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ name: path, content: fc.constantFrom("", "mine") }),
  fc.record({ name: path, type: fc.constant("5") }),
  fc.record({ name: path, type: fc.constantFrom("1", "2"), target: path }),
);
const plain = fc.constantFrom("a", "b", "a/b", "a/c", "b/a", "c/b/a");
const leaving = fc.constantFrom("..", "../a", "../../a/b", "../c/../../a", "b/../../a");
const likely: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ name: plain, content: fc.string({ maxLength: 2000 }) }),
  fc.record({ name: plain, type: fc.constant("5") }),
  fc.record({ name: plain, type: fc.constant("2"), target: fc.oneof(plain, leaving, path) }),
  fc.record({ name: plain, type: fc.constant("1"), target: plain }),
);

const anything = fc.array(fc.oneof(likely, hostile), { maxLength: 8 });
/** Most random archives are refused for their names; these can only be refused for their links. */
const links = fc.uniqueArray(
  fc.record<Entry>({
    name: fc.constantFrom("a", "b", "c/d", "c/e"),
    type: fc.constant("2"),
    target: fc.oneof(plain, leaving),
  }),
  { selector: ({ name }) => name, maxLength: 4 },
);

describe("unpack, for any archive", () => {
  itInGate("gives back the files that were packed", async () => {
    let count = 0;
    const name = fc.stringMatching(/^[a-zA-Z0-9_.\- äß]{1,20}$/).filter((text) => !/^\.{1,2}$/.test(text));
    const files = fc.dictionary(
      fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/")),
      fc.string({ maxLength: 3000 }),
      { maxKeys: 12 },
    );
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 2000 }), async (given, pieces) => {
        // No file can be another's directory.
        const names = Object.keys(given).filter(
          (each) => !Object.keys(given).some((other) => other.startsWith(`${each}/`)),
        );
        const target = `root-${count++}`;
        await unpacked(
          archive(names.flatMap((each) => [pax({ path: each }), { name: "x", content: given[each]! }])),
          pieces,
          target,
        );
        const found = Object.entries(treeOf(into(target))).filter(([, content]) => content !== "/");
        const isFile = (each: string) => !lstatSync(join(into(target), each)).isDirectory();
        expect(Object.fromEntries(found.filter(([each]) => isFile(each)))).toEqual(
          Object.fromEntries(names.filter((each) => given[each] !== "/").map((each) => [each, given[each]])),
        );
      }),
      { seed, numRuns: deep(100, 2000) },
    );
  });

  itInGate("writes nothing outside, and leaves no link that leads there", async () => {
    let count = 0;
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(anything, links), async (entries) => {
        const place = into(`case-${count++}`);
        mkdirSync(join(place, "a"), { recursive: true });
        writeFileSync(join(place, "a", "b"), "theirs");
        const root = join(place, "root");
        try {
          await unpack(inPieces(archive(entries)), root);
          taken += 1;
        } catch (error) {
          if (!(error instanceof ArchiveFault)) throw error;
        }
        const outside = Object.entries(treeOf(place)).filter(([name]) => !name.startsWith("root/"));
        expect(Object.fromEntries(outside)).toEqual({
          a: "/",
          "a/b": "theirs",
          ...(outside.some(([name]) => name === "root") && { root: "/" }),
        });
        for (const each of Object.keys(treeOf(root)))
          expect(realOf(join(root, each))).toMatch(new RegExp(`^${root}(/|$)`));
      }),
      { seed, numRuns: deep(400, 10_000) },
    );
    // Otherwise the test would prove nothing.
    expect(taken).toBeGreaterThan(30);
  });
});

/** The real path; a dangling link counts as inside. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
