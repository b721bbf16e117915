/** What a mirror sends is verified before anything of it can be executed: every refusal, against a real server and real keys. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { type Key, readKey, readPrivateKey, reformatKey, revokeKey, type SecretKeyPacket } from "openpgp";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EngineRefusal, EngineUnavailable } from "../../../src/agent/fetching/faults.ts";
import { publisherKeys } from "../../../src/agent/fetching/publisher-keys.ts";
import { fetchRelease } from "../../../src/agent/fetching/release.ts";
import { readSigningKeys } from "../../../src/agent/fetching/signatures.ts";
import {
  archiveNameOf,
  EngineMirror,
  mirrorCa,
  newSigningKey,
  programPart,
  type SigningKey,
} from "../../support/engine-mirror.ts";
import { newFolder } from "../../support/folder.ts";
import { type ZipPart, zipOf } from "../../support/zip.ts";

const engine = { product: "terraform", version: "1.9.5" } as const;
const archive = archiveNameOf(engine);
const checksums = "terraform_1.9.5_SHA256SUMS";
const dayMs = 86_400_000;
const trusted = getCACertificates("default");

let mirror: EngineMirror;
let folder: string;
let keys: string;
let target: string;

beforeAll(async () => {
  setDefaultCACertificates([...trusted, readFileSync(mirrorCa, "utf8")]);
  mirror = await EngineMirror.start();
});
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await mirror.close();
});
beforeEach(async () => {
  folder = newFolder("cadastre-release-");
  keys = mirror.writeKeys(join(folder, "keys.asc"));
  target = join(folder, "fetched");
  await mirror.publish(engine);
  return () => rmSync(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;
const sourceOf = (engineMirror: string, engineKeys = keys) => ({
  engineMirror,
  engineMirrorInsecure: engineMirror.startsWith("http:"),
  engineKeys,
});
const fetchFrom = (engineMirror = mirror.url, engineKeys = keys, wanted: Parameters<typeof fetchRelease>[0] = engine) =>
  fetchRelease(wanted, sourceOf(engineMirror, engineKeys), target, never);

/** Nothing of the archive is left. */
async function refused(
  fetching: Promise<unknown>,
  reason: RegExp,
  kind: new () => Error = EngineRefusal as never,
): Promise<void> {
  const error = (await fetching.then(
    () => expect.unreachable("it was fetched"),
    (failure: Error) => failure,
  )) as Error;
  expect(error.message).toMatch(reason);
  expect(error).toBeInstanceOf(kind);
  expect(existsSync(join(target, engine.product))).toBe(false);
  expect(readdirSync(folder).filter((name) => name.endsWith(".zip"))).toEqual([]);
}

describe("fetchRelease", () => {
  it.each([engine, { product: "tofu", version: "1.10.6" } as const])("fetches $product $version", async (wanted) => {
    await mirror.publish(wanted);
    const fetched = await fetchFrom(mirror.url, keys, wanted);
    expect(fetched.key).toBe(mirror.key.fingerprint);
    expect(fetched.archive).toBe(`${mirror.url}/${wanted.product}/${wanted.version}/${archiveNameOf(wanted)}`);
    expect(readdirSync(target)).toEqual([wanted.product]);
    expect(statSync(join(target, wanted.product)).mode & 0o777).toBe(0o755);
    expect(readFileSync(join(target, wanted.product), "utf8")).toBe(programPart(wanted).content);
  });

  it("follows redirects over TLS on the mirror's own host", async () => {
    mirror.put(engine, checksums.replace("SUMS", "REAL"), Buffer.from("unused"));
    mirror.put(engine, archive, (_, response) =>
      response.writeHead(302, { location: `${mirror.url}/elsewhere` }).end(),
    );
    const bytes = zipOf([programPart(engine)]);
    await mirror.publish(engine, { archive: bytes });
    mirror.put(engine, archive, (_, response) => response.writeHead(302, { location: "real.zip" }).end());
    mirror.put(engine, "real.zip", bytes);
    await fetchFrom();
    expect(existsSync(join(target, "terraform"))).toBe(true);
  });

  it("accepts http only if the operator allows it", async () => {
    const plain = await EngineMirror.start({ isPlain: true });
    await plain.publish(engine, { signedBy: mirror.key });
    const source = { ...sourceOf(plain.url), engineMirrorInsecure: false };
    await refused(fetchRelease(engine, source, target, never), /only called over https/);
    await fetchFrom(plain.url);
    await plain.close();
  });
});

describe("signatures", () => {
  it("a missing signature", async () => {
    mirror.remove(engine, `${checksums}.sig`);
    await refused(fetchFrom(), /^Terraform 1\.9\.5 was refused\. It is not signed: .*SHA256SUMS\.sig/);
  });

  it("a signature of something else, half of one, and none", async () => {
    await mirror.publish({ ...engine, version: "1.9.4" });
    mirror.put(engine, checksums, Buffer.from(`${"1".repeat(64)}  ${archive}\n`));
    await refused(fetchFrom(), /signature terraform_1\.9\.5_SHA256SUMS\.sig is not valid: Signed digest did not match/);
    for (const bytes of [Buffer.from("not a signature"), Buffer.alloc(0)]) {
      mirror.put(engine, `${checksums}.sig`, bytes);
      await refused(fetchFrom(), /signature .* is not valid: /);
    }
  });

  it("a key that is not among the operator's, also the publisher's own", async () => {
    await mirror.publish(engine, { signedBy: await newSigningKey() });
    await refused(fetchFrom(), /the key [0-9A-F]{16} is not one that signs engines here/);
    await mirror.publish(engine);
    const source = { engineMirror: mirror.url, engineMirrorInsecure: false, engineKeys: undefined };
    await refused(fetchRelease(engine, source, target, never), /is not one that signs engines here/);
  });

  it("made after the key expired; one from before is valid", async () => {
    const key = await newSigningKey({ date: new Date(Date.now() - 10 * dayMs), keyExpirationTime: (5 * dayMs) / 1000 });
    const both = mirror.writeKeys(join(folder, "both.asc"), key);
    // The library refuses to sign with an expired key, so the signature comes from the same key without an end.
    const unlimited = await readPrivateKey({ armoredKey: key.privateKey.armor() });
    for (const { selfCertifications } of unlimited.users)
      for (const certification of selfCertifications)
        Object.assign(certification, { keyExpirationTime: 0, keyNeverExpires: true });
    await mirror.publish(engine, { signedBy: { ...key, privateKey: unlimited } });
    await refused(fetchFrom(mirror.url, both), /is not valid: .*expired/i);
    await mirror.publish(engine, { signedBy: key, signedAt: new Date(Date.now() - 7 * dayMs) });
    expect((await fetchFrom(mirror.url, both)).key).toBe(key.fingerprint);
  });

  it("a revoked key, whatever the reason, also for earlier signatures", async () => {
    for (const flag of [0, 1, 2, 3]) {
      const key = await newSigningKey({ date: new Date(Date.now() - 10 * dayMs) });
      const { publicKey } = await revokeKey({ key: key.privateKey, reasonForRevocation: { flag }, format: "object" });
      const revoked = { ...key, armoredPublicKey: publicKey.armor() };
      const both = mirror.writeKeys(join(folder, "both.asc"), revoked);
      await mirror.publish(engine, { signedBy: key, signedAt: new Date(Date.now() - 7 * dayMs) });
      await refused(fetchFrom(mirror.url, both), /revoked/);
    }
  });
});

describe("copies of one key", () => {
  const created = new Date(Date.now() - 10 * dayMs);
  type Copies = readonly { readonly armoredPublicKey: string }[];
  const inBothOrders = (key: SigningKey, copies: Copies) =>
    [copies, copies.toReversed()].map((each, index) =>
      mirror.writeKeys(join(folder, `copies-${index}.asc`), ...each.map((copy) => ({ ...key, ...copy }))),
    );
  const armored = (key: Key) => ({ armoredPublicKey: key.armor() });

  it("a revocation in any of them counts, of the key or of the subkey that signed", async () => {
    const key = await newSigningKey({ date: created, subkeys: [{ sign: true }] });
    const revokedKey = await revokeKey({ key: key.privateKey, format: "object" });
    const { privateKey } = key;
    const revokedSubkey = await readPrivateKey({ armoredKey: privateKey.armor() });
    const [subkey] = privateKey.subkeys;
    if (subkey === undefined) throw new Error("the key has no subkey");
    revokedSubkey.subkeys = [await subkey.revoke(privateKey.keyPacket as SecretKeyPacket, { flag: 1 })];
    await mirror.publish(engine, { signedBy: key, signedAt: new Date(Date.now() - 7 * dayMs) });
    expect((await fetchFrom(mirror.url, mirror.writeKeys(join(folder, "one.asc"), key))).key).toBe(key.fingerprint);
    rmSync(target, { recursive: true });
    for (const revoked of [revokedKey.publicKey, revokedSubkey.toPublic()])
      for (const file of inBothOrders(key, [key, armored(revoked)]))
        await refused(fetchFrom(mirror.url, file), /revoked/);
  });

  it("the longer validity counts", async () => {
    const key = await newSigningKey({ date: created, keyExpirationTime: (5 * dayMs) / 1000 });
    const { privateKey } = await reformatKey({
      privateKey: key.privateKey,
      userIDs: [{ name: "Publisher", email: "publisher@example.com" }],
      date: new Date(Date.now() - 4 * dayMs),
      keyExpirationTime: 0,
      format: "object",
    });
    await mirror.publish(engine, { signedBy: { ...key, privateKey } });
    for (const file of inBothOrders(key, [key, armored(privateKey.toPublic())])) {
      expect((await fetchFrom(mirror.url, file)).key).toBe(key.fingerprint);
      rmSync(target, { recursive: true });
    }
    await refused(fetchFrom(mirror.url, mirror.writeKeys(join(folder, "one.asc"), key)), /expired/);
  });
});

describe("checksums", () => {
  it("another archive than the signed one", async () => {
    mirror.put(engine, archive, zipOf([programPart(engine), { name: "more", content: "" }]));
    await refused(
      fetchFrom(),
      /archive terraform_1\.9\.5_linux_\w+\.zip has the checksum \w{64}, but its publisher signed \w{64}/,
    );
  });

  it("another version under this name: its checksums have no line for this one", async () => {
    await mirror.publish(engine, { named: "1.9.4" });
    await refused(fetchFrom(), /The signed checksums have none for terraform_1\.9\.5_linux/);
  });

  it("a complete response with half of the archive", async () => {
    const bytes = zipOf([programPart(engine)]);
    await mirror.publish(engine, { archive: bytes });
    mirror.put(engine, archive, bytes.subarray(0, bytes.length / 2));
    await refused(fetchFrom(), /has the checksum/);
  });

  it("too large: checksums above 1 MiB, an archive above 512 MiB", async () => {
    mirror.put(engine, archive, (_, response) =>
      response.writeHead(200, { "content-length": 512 * 2 ** 20 + 1 }).write("PK"),
    );
    await refused(fetchFrom(), /larger than 536870912 bytes/);
    mirror.put(engine, checksums, Buffer.alloc(2 ** 20 + 1));
    await refused(fetchFrom(), /larger than 1048576 bytes/);
    // Without a length, the bytes are counted.
    mirror.put(engine, checksums, (_, response) => void response.writeHead(200).end(Buffer.alloc(2 ** 20 + 1)));
    await refused(fetchFrom(), /larger than 1048576 bytes/);
  });
});

describe("archives, although they are signed", () => {
  const program = programPart(engine);
  const whole = zipOf([program, { name: "x", content: "" }]);
  const end = whole.subarray(-22);
  const streamed = zipOf([{ ...program, isStreamed: true }]);
  const directoryOf = (archived: Buffer) => archived.readUInt32LE(archived.length - 6);
  function changed(archived: Buffer, at: number, value: number): Buffer {
    const copy = Buffer.from(archived);
    copy.writeUInt32LE(value, at);
    return copy;
  }
  const cases: [string, Buffer | readonly ZipPart[], RegExp][] = [
    [
      "a path outside it",
      [program, { name: "../../etc/passwd", content: "" }],
      /'\.\.\/\.\.\/etc\/passwd', which is outside/,
    ],
    ["a path outside it, with backslashes", [program, { name: "..\\x", content: "" }], /outside/],
    ["an absolute path", [program, { name: "/etc/passwd", content: "" }], /absolute path/],
    ["a directory", [program, { name: "sub/file", content: "" }], /plain files, without directories/],
    ["a link", [program, { name: "link", content: "/etc/passwd", mode: 0o120777 }], /'link', which is a link/],
    ["a program that is a link", [{ ...program, mode: 0o120777 }], /'terraform', which is a link/],
    ["a name twice", [program, program], /'terraform' twice/],
    ["a name in two cases", [program, { name: "TERRAFORM", content: "" }], /twice/],
    ["another program", [{ ...program, name: "tofu" }], /does not contain the program terraform/],
    ["more than 1 GiB when unpacked", [{ ...program, declared: { size: 2 ** 30 + 1 } }], /more than 1073741824 bytes/],
    [
      "more than 1 GiB together",
      [program, { name: "x", content: "", declared: { size: 2 ** 30 } }],
      /more than 1073741824 bytes/,
    ],
    [
      "more than it declares",
      [{ ...program, content: Buffer.alloc(2 ** 24), declared: { size: 1000 } }],
      /more than it declares/,
    ],
    ["less than it declares", [{ ...program, declared: { size: 2 ** 20 } }], /declared content/],
    ["a wrong checksum of the file", [{ ...program, declared: { crc: 1 } }], /declared content/],
    ["two names for one entry", [{ ...program, declared: { localName: "terrafork" } }], /another name/],
    [
      "many entries",
      Array.from({ length: 101 }, (_, index) => ({ name: `${index}`, content: "" })),
      /more than 100 entries/,
    ],
    ["no zip archive", Buffer.from("#!/bin/sh\n".repeat(100)), /not a zip archive/],
    ["nothing", Buffer.alloc(0), /not a zip archive/],
    ["a truncated zip", whole.subarray(0, -30), /not a zip archive/],
    ["bytes in front", [{ ...program, gap: Buffer.from("#!/bin/sh\n") }], /something between them/],
    ["bytes in front that no offset counts", Buffer.concat([Buffer.alloc(9), whole]), /not at its end/],
    ["bytes between entries", [program, { name: "x", content: "", gap: Buffer.alloc(1) }], /something between them/],
    ["bytes before the directory", zipOf([program], Buffer.alloc(1)), /do not end where its directory begins/],
    ["bytes behind the directory", Buffer.concat([whole.subarray(0, -22), Buffer.alloc(1), end]), /not at its end/],
    ["bytes behind the end", Buffer.concat([whole, Buffer.alloc(1)]), /followed by something else/],
    ["bytes behind a compressed file", [{ ...program, padding: Buffer.alloc(1) }], /followed by something else/],
    ["a comment", Buffer.concat([whole.subarray(0, -2), Buffer.from([1, 0, 0])]), /followed by something else/],
    ["two entries at one place", changed(whole, whole.length - 22 - 46 - 1 + 42, 0), /overlap/],
    ["another size in the entry", [{ ...program, declared: { local: { size: 1 } } }], /differs/],
    ["another packed size in the entry", [{ ...program, declared: { local: { packed: 1 } } }], /differs/],
    ["another checksum in the entry", [{ ...program, declared: { local: { crc: 1 } } }], /differs/],
    ["another method in the entry", [{ ...program, declared: { local: { method: 0 } } }], /differs/],
    ["other flags in the entry", [{ ...program, declared: { local: { flags: 8 } } }], /differs/],
    ["another checksum behind the entry", changed(streamed, directoryOf(streamed) - 12, 1), /differs/],
    ["no checksum behind the entry", changed(streamed, directoryOf(streamed) - 16, 1), /checksum is missing/],
  ];

  it.each(cases)("%s", async (_, content, reason) => {
    await mirror.publish(engine, Buffer.isBuffer(content) ? { archive: content } : { parts: content });
    await refused(fetchFrom(), reason);
  });

  it("one that was written as a stream is accepted", async () => {
    await mirror.publish(engine, { archive: streamed });
    await fetchFrom();
    expect(readFileSync(join(target, "terraform"), "utf8")).toBe(program.content);
  });
});

describe("redirects", () => {
  it.each([
    ["to plain http", () => `http://localhost:${mirror.port}/engines/x`, /without TLS/],
    ["to another scheme", () => "file:///etc/passwd", /without TLS/],
    ["with a username", () => "https://ada@localhost/", /without TLS/],
    ["to a private address", () => "https://10.0.0.1/x.zip", /10\.0\.0\.1, which has a private address/],
    ["to the metadata service", () => "https://169.254.169.254/x.zip", /private address/],
    ["to this machine by another name", () => `https://127.0.0.1:${mirror.port}/engines/x`, /private address/],
  ])("%s", async (_, location, reason) => {
    for (const file of [checksums, `${checksums}.sig`, archive]) {
      await mirror.publish(engine);
      mirror.put(engine, file, (_request, response) => response.writeHead(302, { location: location() }).end());
      await refused(fetchFrom(), reason);
    }
  });
});

describe("an unavailable mirror is not a refusal", () => {
  const unavailable = (fetching: Promise<unknown>, reason: RegExp) =>
    refused(fetching, reason, EngineUnavailable as never);

  it("nobody listens, a version is missing, an error, an endless redirect, a broken connection", async () => {
    await unavailable(fetchFrom("https://localhost:1"), /^localhost:1 can't be reached \(.*ECONNREFUSED/);
    await unavailable(
      fetchFrom(mirror.url, keys, { ...engine, version: "9.9.9" }),
      /does not have .*terraform_9\.9\.9_SHA256SUMS$/,
    );
    mirror.put(engine, checksums, (_, response) => response.writeHead(503).end());
    await unavailable(fetchFrom(), /responded with the status 503$/);
    mirror.put(engine, checksums, (_, response) => response.writeHead(302, { location: checksums }).end());
    await unavailable(fetchFrom(), /redirects more than 5 times$/);
    await mirror.publish(engine);
    mirror.put(engine, archive, (_, response) => {
      response.writeHead(200, { "content-length": 1000 }).write("PK", () => response.destroy());
    });
    await unavailable(fetchFrom(), /can't be reached/);
  });

  it("an unknown certificate", async () => {
    setDefaultCACertificates(trusted);
    try {
      await unavailable(fetchFrom(), /can't be reached \(.*certificate/);
    } finally {
      setDefaultCACertificates([...trusted, readFileSync(mirrorCa, "utf8")]);
    }
  });

  it("a version that is no release, and fetching that is off", async () => {
    await unavailable(fetchFrom(mirror.url, keys, { ...engine, version: "~> 1.9" }), /not the version of a release/);
    await unavailable(fetchFrom("off"), /CADASTRE_ENGINE_MIRROR is off/);
  });
});

describe("the publishers' keys", () => {
  it.each([
    ["terraform", "C874011F0AB405110D02105534365D9472D7468F"],
    ["tofu", "E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80"],
  ] as const)("%s: the one with the known fingerprint, which can sign until 2030", async (product, fingerprint) => {
    const [key, ...others] = await readSigningKeys(product, undefined);
    expect(others).toEqual([]);
    expect(key?.getFingerprint().toUpperCase()).toBe(fingerprint);
    expect((await readKey({ armoredKey: publisherKeys[product] })).isPrivate()).toBe(false);
    for (const date of [new Date(), new Date("2030-02-01")]) await key?.getSigningKey(undefined, date);
  });
});
