import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArchiveCheck, readmeBytesMax } from "../../src/archive/check.ts";
import { ArchiveFault, limits } from "../../src/archive/faults.ts";
import { archive, type Entry, header, inPieces, pax, part, tar, tarEnd, withChecksum } from "../support/archives.ts";
import { deep, seed } from "../support/depth.ts";
import { itInGate } from "../support/engine-independent.ts";

async function check(bytes: Uint8Array, { directory = "", pieces = 1000 } = {}) {
  const checking = new ArchiveCheck(directory);
  try {
    for await (const piece of inPieces(bytes, pieces)) await checking.write(piece);
    return await checking.end();
  } finally {
    checking.destroy();
  }
}

/** The code of the fault, and its message. */
async function refusal(bytes: Uint8Array, pieces = 1000): Promise<{ code: string; sentence: string }> {
  try {
    await check(bytes, { pieces });
  } catch (error) {
    if (error instanceof ArchiveFault) return { code: error.code, sentence: error.message };
    throw error;
  }
  return { code: "none", sentence: "" };
}

const main: Entry = { name: "main.tf", content: 'resource "null_resource" "one" {}\n' };
const directory = (name: string): Entry => ({ name, type: "5" });
const link = (name: string, target: string): Entry => ({ name, type: "2", target });
const hardLink = (name: string, target: string): Entry => ({ name, type: "1", target });

describe("an archive that is accepted", () => {
  const taken: Record<string, (Entry | Buffer)[]> = {
    "with files, directories and links": [
      directory("modules/"),
      { ...main, name: "modules/a.tf" },
      main,
      link("b.tf", "main.tf"),
    ],
    "with nothing in it": [],
    "with the root itself, and names that begin with './'": [directory("./"), { ...main, name: "./main.tf" }],
    "without entries for directories": [{ ...main, name: "a/b/c/main.tf" }],
    "with a link to what comes later": [link("a", "b/c"), { ...main, name: "b/c" }],
    "with a link to nothing": [link("a", "b")],
    "with a link up and down again": [directory("a"), link("a/b", "../main.tf"), main],
    "with a link to the root": [directory("a"), link("a/root", "..")],
    "with a hard link to a file before it": [main, hardLink("other.tf", "./main.tf")],
    "with a file twice": [main, main],
    "with a directory twice": [directory("a"), directory("a/")],
    "with a link twice": [link("a", "b"), link("a", "c")],
    "with a directory for a group": [{ ...directory("a"), mode: 0o2775 }],
    "with a name of 4,096 bytes by pax": [pax({ path: `${"a".repeat(63)}/`.repeat(63) + "b".repeat(64) }), main],
    "with a name of GNU": [part({ name: "././@LongLink", type: "L", content: `${"a".repeat(150)}\0` }), main],
    "with a target of GNU": [
      part({ name: "././@LongLink", type: "K", content: `${"a/".repeat(60)}b\0` }),
      link("x", "y"),
    ],
    "with a prefix": [{ ...main, prefix: "a/b" }],
    "with a global header": [
      part({ name: "pax_global_header", type: "g", content: "52 comment=0123456789012345678901234567890123456789\n" }),
      main,
    ],
    "from before there were kinds": [
      { ...main, type: "\0", magic: "" },
      { name: "a/", type: "\0", magic: "" },
      { ...main, name: "a/b" },
    ],
    "with a name that is no UTF-8": [{ ...main, name: Buffer.from([0x61, 0xe4, 0x2e, 0x74, 0x66]) }],
    "64 levels deep": [pax({ path: Array.from({ length: 64 }, () => "d").join("/") }), main],
  };

  it.each(Object.entries(taken))("%s", async (_title, parts) => {
    for (const pieces of [1, 511, 100_000]) {
      const bytes = archive(parts);
      expect(await refusalOrSummary(bytes, pieces)).toMatchObject({
        packedBytes: bytes.length,
        unpackedBytes: tar(parts).length,
      });
    }
  });

  const refusalOrSummary = (bytes: Uint8Array, pieces: number) => check(bytes, { pieces });

  it("in several gzip members, and with tar's padding of zeros", async () => {
    const whole = Buffer.concat([tar([main]), Buffer.alloc(8192)]);
    const bytes = Buffer.concat([gzipSync(whole.subarray(0, 700)), gzipSync(whole.subarray(700))]);
    for (const pieces of [1, 100, 100_000]) await expect(check(bytes, { pieces })).resolves.toBeDefined();
  });

  it("with a checksum over signed bytes", async () => {
    const bytes = header({ ...main, name: Buffer.from([0xe4]), content: "" });
    bytes.fill(" ", 148, 156);
    const sum = bytes.reduce((total, byte) => total + (byte < 128 ? byte : byte - 256), 0);
    bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    await expect(check(gzipSync(Buffer.concat([bytes, tarEnd])))).resolves.toBeDefined();
  });
});

describe("an archive that is refused", () => {
  const refused: Record<string, [(Entry | Buffer)[], string, RegExp]> = {
    "an absolute name": [[{ ...main, name: "/etc/passwd" }], "name_absolute", /'\/etc\/passwd' is absolute/],
    "a name with '..'": [[{ ...main, name: "a/../../b" }], "name_outside", /'a\/\.\.\/\.\.\/b' leads out/],
    "a name with '..' that stays inside": [[{ ...main, name: "a/../b" }], "name_outside", /leads out/],
    "a file without a name": [[{ ...main, name: "" }], "name_invalid", /without a name/],
    "a file that is the root": [[{ ...main, name: "./", type: "2", target: "x" }], "name_invalid", /without a name/],
    "a zero byte in a name": [[pax({ path: "a\0b" }), main], "name_invalid", /zero byte/],
    "a name of 4,097 bytes": [
      [pax({ path: `${"a".repeat(63)}/`.repeat(64) + "b" }), main],
      "name_too_long",
      /4096 bytes/,
    ],
    "a name of 256 bytes between slashes": [[pax({ path: "a".repeat(256) }), main], "name_too_long", /255 between/],
    "65 levels": [[pax({ path: Array.from({ length: 65 }, () => "d").join("/") }), main], "too_deep", /64 levels/],
    "a link to an absolute target": [
      [link("a", "/etc/passwd")],
      "link_outside",
      /'a' leads out of the archive, to '\/etc\/passwd'/,
    ],
    "a link out of the root": [[link("a/b", "../../c")], "link_outside", /leads out/],
    "a link out of the root through another": [
      [directory("a/b"), link("a/b/c", "../.."), link("d", "a/b/c/..")],
      "link_outside",
      /'d' leads out/,
    ],
    "a link out of the root through a later one": [
      [link("d", "a/b/c/.."), directory("a/b"), link("a/b/c", "../..")],
      "link_outside",
      /'d' leads out/,
    ],
    "a link to itself": [[link("a", "a")], "link_circle", /circular/],
    "two links to each other": [[link("a", "b/x"), link("b", "a/y")], "link_circle", /circular/],
    "a link without a target": [[link("a", "")], "name_invalid", /target is empty/],
    "a link with a target of 4,097 bytes": [
      [pax({ linkpath: "a".repeat(4097) }), link("a", "b")],
      "name_too_long",
      /target/,
    ],
    "a hard link to outside": [[hardLink("a", "../b")], "hard_link_outside", /earlier file/],
    "a hard link to an absolute name": [[main, hardLink("a", "/main.tf")], "hard_link_outside", /earlier file/],
    "a hard link to what comes later": [[hardLink("a", "main.tf"), main], "hard_link_outside", /earlier file/],
    "a hard link to a link": [[link("a", "main.tf"), hardLink("b", "a"), main], "hard_link_outside", /earlier file/],
    "a hard link to a directory": [[directory("a"), hardLink("b", "a")], "hard_link_outside", /earlier file/],
    "a hard link to itself": [[main, hardLink("main.tf", "main.tf")], "hard_link_outside", /earlier file/],
    "an entry below a link": [[link("a", "b"), { ...main, name: "a/main.tf" }], "below_link", /inside a link/],
    "a directory below a link": [[link("a", "."), directory("a/b/c")], "below_link", /inside a link/],
    "an entry below a file": [[main, { ...main, name: "main.tf/a" }], "below_file", /inside a file/],
    "a directory that becomes a link": [
      [directory("a"), link("a", ".")],
      "kind_changed",
      /'a' twice, as a directory and as a link/,
    ],
    "a directory, only mentioned, that becomes a link": [
      [{ ...main, name: "a/b" }, link("a", ".")],
      "kind_changed",
      /twice/,
    ],
    "a link that becomes a directory": [[link("a", "."), directory("a")], "kind_changed", /twice/],
    "a file that becomes a link": [[main, link("main.tf", "x")], "kind_changed", /twice/],
    "a link that becomes a file": [[link("main.tf", "x"), main], "kind_changed", /twice/],
    "a character device": [[{ name: "a", type: "3" }], "special_file", /device or a pipe/],
    "a block device": [[{ name: "a", type: "4" }], "special_file", /device or a pipe/],
    "a pipe": [[{ name: "a", type: "6" }], "special_file", /device or a pipe/],
    "a file that runs as its owner": [[{ ...main, mode: 0o4755 }], "set_user_id", /mode 4755/],
    "a file that runs as its group": [[{ ...main, mode: 0o2755 }], "set_user_id", /mode 2755/],
    "a sparse file of GNU": [[{ ...main, type: "S" }], "unsupported_entry", /'S'/],
    "a sparse file by pax": [[pax({ "GNU.sparse.major": "1" }), main], "unsupported_entry", /sparse/],
    "a size by pax that is no number": [[pax({ size: "-1" }), main], "corrupt", /invalid file size/],
    "an extended header that can't be read": [
      [part({ name: "x", type: "x", content: "9 path=\n" }), main],
      "corrupt",
      /extended header/,
    ],
    "an extended header that is too large": [
      [header({ name: "x", type: "x", size: 2 ** 20 + 1 })],
      "name_too_long",
      /extended header/,
    ],
  };

  it.each(Object.entries(refused))("%s", async (_title, [parts, code, sentence]) => {
    for (const pieces of [1, 100_000]) {
      const reported = await refusal(archive(parts), pieces);
      expect(reported.code).toBe(code);
      expect(reported.sentence).toMatch(sentence);
    }
  });

  it("shows names without control characters, and truncates long ones", async () => {
    const { sentence } = await refusal(archive([{ ...main, name: "/a\u001B[31m\nb" }]));
    expect(sentence).toContain("'/a\uFFFD[31m\uFFFDb'");
    const long = await refusal(archive([pax({ path: `/${"a".repeat(4000)}` }), main]));
    expect(long.sentence.length).toBeLessThan(400);
  });

  it("a wrong checksum, and an invalid number", async () => {
    const wrong = part(main);
    wrong[0] = 0x7a;
    expect(await refusal(archive([wrong]))).toMatchObject({ code: "corrupt" });
    const sized = header(main);
    sized.write("zz", 124, "latin1");
    expect(await refusal(archive([withChecksum(sized)]))).toMatchObject({ code: "corrupt" });
    const huge = header(main);
    huge.fill(0xff, 124, 136);
    expect(await refusal(archive([withChecksum(huge)]))).toMatchObject({ code: "corrupt" });
  });

  it.each([
    ["nothing", Buffer.alloc(0), "truncated"],
    ["text", Buffer.from("resource {}"), "not_gzip"],
    ["a tar without gzip", tar([main]), "not_gzip"],
    ["the first byte of gzip", Buffer.from([0x1f]), "truncated"],
    ["gzip of nothing", gzipSync(Buffer.alloc(0)), "truncated"],
    ["gzip of text", gzipSync("hello ".repeat(200)), "corrupt"],
    ["no end of the archive", gzipSync(part(main)), "truncated"],
    ["half an end", gzipSync(Buffer.concat([part(main), tarEnd.subarray(512)])), "truncated"],
    [
      "something after half an end",
      gzipSync(Buffer.concat([part(main), tarEnd.subarray(512), part(main), tarEnd])),
      "trailing_data",
    ],
    ["something after the archive", gzipSync(Buffer.concat([tar([main]), part(main)])), "trailing_data"],
    ["something after gzip", Buffer.concat([archive([main]), Buffer.from("garbage")]), "corrupt"],
    ["zeros after gzip", Buffer.concat([archive([main]), Buffer.alloc(10)]), "trailing_data"],
    [
      "zeros and more after gzip",
      Buffer.concat([archive([main]), Buffer.alloc(5), Buffer.from("garbage")]),
      "trailing_data",
    ],
    ["an archive after the archive", Buffer.concat([archive([main]), archive([main])]), "trailing_data"],
    ["an entry that is larger than the archive", archive([header({ ...main, size: 1e6 })]), "truncated"],
    ["an entry of 16 TiB", archive([header({ ...main, size: 2 ** 44 })]), "truncated"],
  ])("%s", async (_title, bytes, code) => {
    for (const pieces of [1, 7, 100_000]) expect((await refusal(bytes, pieces)).code).toBe(code);
  });

  it("cut off anywhere", async () => {
    const whole = archive([directory("a"), main, link("b", "main.tf")]);
    for (let length = 1; length < whole.length; length++)
      expect((await refusal(whole.subarray(0, length))).code).toBe("truncated");
  });

  it("with any bit flipped: as an archive fault, and nothing else", async () => {
    const whole = archive([directory("a"), main, link("b", "main.tf")]);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 7 }), async (place, bit) => {
        const broken = Buffer.from(whole);
        broken[place]! ^= 1 << bit;
        // Some bits have no meaning: the time in the gzip header, and the padding of the last compressed byte.
        const { code } = await refusal(broken);
        if (code === "none") expect(gunzipSync(broken)).toEqual(gunzipSync(whole));
      }),
      { seed, numRuns: deep(80, 5000) },
    );
  });
});

describe("limits", () => {
  it("of the packed size", async () => {
    const bytes = Buffer.alloc(1024 * 1024);
    const checking = new ArchiveCheck("");
    // A gzip member whose comment never ends, so that it yields no data.
    await checking.write(Buffer.from([0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 0]));
    bytes.fill("a");
    const sent = async () => {
      for (let count = 0; count <= 100; count++) await checking.write(bytes);
    };
    await expect(sent()).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining(String(limits.packedBytes)),
    });
  });

  itInGate("of what comes out: a bomb is noticed while it is inflated, in bounded memory", async () => {
    // 600 MiB in less than 1 MiB: a repeated gzip member, each with 4 MiB of one file.
    const zeros = gzipSync(Buffer.alloc(4 * 1024 * 1024), { level: 9 });
    const first = gzipSync(header({ ...main, size: 600 * 1024 * 1024 }));
    const bomb = Buffer.concat([first, ...Array.from({ length: 150 }, () => zeros)]);
    expect(bomb.length).toBeLessThan(1024 * 1024);
    // A separate process, started like the service, so that only its own memory counts.
    const script = `
      import { readFileSync } from "node:fs";
      import { ArchiveCheck } from ${JSON.stringify(pathToFileURL("src/archive/check.ts").href)};
      const checking = new ArchiveCheck("");
      let code;
      try { for await (const piece of process.stdin) await checking.write(piece); } catch (error) { code = error.code; }
      // resourceUsage() starts with the peak of the parent process.
      const [, kilobytes] = /VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"));
      console.log(JSON.stringify({ code, peakBytes: kilobytes * 1024 }));`;
    const child = spawnSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", script], { input: bomb });
    const reported = JSON.parse(child.stdout.toString()) as { code: string; peakBytes: number };
    expect(reported.code).toBe("too_large_unpacked");
    expect(reported.peakBytes).toBeLessThan(300 * 1024 * 1024);
  });

  itInGate("of entries, with the directories that names mention", async () => {
    const some = (count: number) =>
      Array.from({ length: count }, (_, place) => header({ name: `d${place}/f`, content: "" }));
    expect((await refusal(archive(some(limits.entries / 2)), 65536)).code).toBe("none");
    expect((await refusal(archive(some(limits.entries / 2 + 1)), 65536)).code).toBe("too_many_entries");
  });

  itInGate("of names together", async () => {
    const long = (place: number) => pax({ path: `${"a".repeat(250)}/`.repeat(16) + String(place) });
    const parts = Array.from({ length: 4500 }, (_, place) => [long(place), header({ name: "a" })]).flat();
    expect((await refusal(archive(parts), 65536)).code).toBe("names_too_long");
  });

  itInGate("of the steps that following links takes: half a million for all links together", async () => {
    const far = `${"d/../".repeat(800)}x`;
    const steps = far.split("/").length;
    const taken = Math.floor(500_000 / steps);
    const links = (count: number) =>
      Array.from({ length: count }, (_, place) => [pax({ linkpath: far }), link(`l${place}`, "x")]).flat();
    expect((await refusal(archive([directory("d"), ...links(taken)]), 65536)).code).toBe("none");
    const { code, sentence } = await refusal(archive([directory("d"), ...links(taken + 100)]), 65536);
    expect([code, sentence]).toEqual(["link_circle", expect.stringContaining(`'l${taken}'`)]);
  });
});

describe("the readme", () => {
  const readmeOf = async (parts: Entry[], working = "") => {
    const { readme } = await check(archive(parts), { directory: working, pieces: 50 });
    return readme === undefined ? undefined : Buffer.from(readme).toString();
  };

  it.each<[string, Entry[], string, string | undefined]>([
    ["README.md", [main, { name: "README.md", content: "hello" }], "", "hello"],
    ["by any case", [{ name: "ReadMe.MD", content: "hello" }], "", "hello"],
    ["without an ending", [{ name: "README", content: "hello" }], "", "hello"],
    [
      "with an ending before without one",
      [
        { name: "README", content: "no" },
        { name: "readme.md", content: "yes" },
        { name: "Readme", content: "no" },
      ],
      "",
      "yes",
    ],
    [
      "as it is usually spelled before others",
      [
        { name: "README.md", content: "yes" },
        { name: "readme.md", content: "no" },
      ],
      "",
      "yes",
    ],
    [
      "the later of two of one name",
      [
        { name: "README.md", content: "no" },
        { name: "README.md", content: "yes" },
      ],
      "",
      "yes",
    ],
    [
      "of the working directory alone",
      [
        { name: "README.md", content: "no" },
        { name: "a/b/README.md", content: "yes" },
      ],
      "/a/./b/",
      "yes",
    ],
    ["of a working directory with other letters", [{ name: "ä/README.md", content: "yes" }], "ä", "yes"],
    ["none in the working directory", [{ name: "README.md", content: "no" }], "a", undefined],
    [
      "none at all",
      [main, { name: "docs/README.md", content: "no" }, { name: "README.rst", content: "no" }],
      "",
      undefined,
    ],
    ["an empty one", [{ name: "README.md", content: "" }], "", ""],
    ["the largest", [{ name: "README.md", content: "a".repeat(readmeBytesMax) }], "", "a".repeat(readmeBytesMax)],
    [
      "a larger one is passed over",
      [
        { name: "README.md", content: "a".repeat(readmeBytesMax + 1) },
        { name: "README", content: "yes" },
      ],
      "",
      "yes",
    ],
    ["no link", [{ name: "docs.md", content: "no" }, link("README.md", "docs.md")], "", undefined],
    ["no directory", [directory("README.md")], "", undefined],
  ])("%s", async (_title, parts, working, expected) => {
    expect(await readmeOf(parts, working)).toBe(expected);
  });
});
