/** States that the engine encrypted: they are recognized by their shape, and what only resembles one is refused. */
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/kernel/errors.ts";
import { type StateFile, StateFileReader } from "../../src/statefile/state-file.ts";

const data = Buffer.from("what nobody here can read").toString("base64");
const meta = { "key_provider.pbkdf2.main": Buffer.from('{"salt":"…"}').toString("base64") };
/** As OpenTofu writes it. */
const encrypted = { serial: 3, lineage: "5a", meta, encrypted_data: data, encryption_version: "v0" };

function read(content: unknown, size = 100_000): StateFile {
  const bytes = Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  const reader = new StateFileReader();
  for (let start = 0; start < bytes.length; start += size) reader.write(bytes.subarray(start, start + size));
  return reader.end();
}

function refusal(content: unknown, size?: number): string {
  try {
    read(content, size);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    const { code, faults } = error as AppError;
    expect(code).toBe("invalid");
    expect(faults.map(({ pointer }) => pointer)).toEqual(["/data/attributes/state"]);
    return faults[0]!.detail;
  }
  throw new Error("It was accepted.");
}

describe("an encrypted state", () => {
  const expected = {
    encrypted: true,
    format: null,
    engineVersion: null,
    serial: 3,
    lineage: "5a",
    outputs: [],
    modules: {},
    providers: {},
    resources: [],
    instanceCount: 0,
  };

  it.each([1, 3, 7, 64, 100_000])("has its serial and lineage, and nothing else: in pieces of %i", (size) => {
    expect(JSON.parse(JSON.stringify(read(encrypted, size)))).toEqual(expected);
  });

  it("can have its members in any order, and other members", () => {
    const entries = Object.entries({ ...encrypted, comment: { resources: [1] } });
    expect(read(Object.fromEntries(entries.toReversed()))).toMatchObject({ encrypted: true, serial: 3 });
  });

  it("can lack what only newer engines write, or what its method does not need", () => {
    for (const more of [
      { encryption_version: undefined },
      { meta: undefined },
      { meta: {} },
      { meta: null },
      { serial: undefined, lineage: undefined },
    ])
      expect(read({ ...encrypted, ...more }).encrypted).toBe(true);
  });

  it.each(["QQ==", "QUE=", "QUFB", "+/+/"])("can be as short as %s", (encrypted_data) => {
    expect(read({ ...encrypted, encrypted_data }).encrypted).toBe(true);
  });

  it("with a version it is not encrypted: it is read like any other state", () => {
    const file = read({ ...encrypted, version: 4, outputs: { a: { value: 1 } } });
    expect(file).toMatchObject({ encrypted: false, format: 4, outputs: [{ name: "a" }] });
  });
});

describe("what only resembles an encrypted state", () => {
  const noBase64 = 'The state looks encrypted, but its member "encrypted_data" is not a base64 string.';

  it.each<unknown>([
    "",
    "A",
    "AA",
    "AAA",
    "AAAAA",
    "=",
    "A===",
    "AA=A",
    "====",
    "AAAA\n",
    "AA-_",
    "no base64 at all",
    null,
    5,
    true,
    [data],
    { data },
  ])("is refused where the data is %j", (encrypted_data) => {
    for (const size of [1, 1000]) expect(refusal({ ...encrypted, encrypted_data }, size)).toBe(noBase64);
  });

  it("is refused if the data is written with escapes", () => {
    const escaped = JSON.stringify(encrypted).replace(data, `\\u0041${data.slice(1)}`);
    expect(refusal(escaped)).toBe(noBase64);
  });

  it.each([
    [{ meta: "text" }, "meta", "an object"],
    [{ meta: [] }, "meta", "an object"],
    [{ meta: 1 }, "meta", "an object"],
    [{ encryption_version: "" }, "encryption_version", "a string"],
    [{ encryption_version: 0 }, "encryption_version", "a string"],
    [{ encryption_version: null }, "encryption_version", "a string"],
    [{ encryption_version: "v".repeat(2000) }, "encryption_version", "a string"],
  ])("is refused with %j", (more, member, shape) => {
    expect(refusal({ ...encrypted, ...more })).toBe(
      `The state looks encrypted, but its member "${member}" is not ${shape}.`,
    );
  });

  it("is refused if only the data suggests it", () => {
    for (const more of [
      { meta: undefined, encryption_version: undefined },
      { meta: null, encryption_version: undefined },
    ])
      expect(refusal({ ...encrypted, ...more })).toBe(
        'The state looks encrypted, but it has neither "meta" nor "encryption_version", one of which must accompany "encrypted_data".',
      );
  });

  it.each(["outputs", "resources", "terraform_version", "modules"])("is refused with the plain member %s", (member) => {
    const value = { outputs: {}, resources: [], terraform_version: "1.9.5", modules: [] }[member];
    const sentence = `The state looks encrypted, but it has the member "${member}" of a plain state.`;
    expect(refusal({ ...encrypted, [member]: value })).toBe(sentence);
    expect(refusal({ [member]: value, ...encrypted })).toBe(sentence);
  });

  it("is refused if a member is duplicated", () => {
    for (const member of ["encrypted_data", "meta", "encryption_version"] as const) {
      const again = `,${JSON.stringify(member)}:${JSON.stringify(encrypted[member])}}`;
      expect(refusal(JSON.stringify(encrypted).replace(/}$/, again))).toBe(
        `The state has the member "${member}" more than once.`,
      );
    }
  });

  it("is refused if the data is nested deeper, or the whole is not an object", () => {
    const noVersion = /^The state must be a JSON object with a member "version"/;
    for (const content of [{ state: encrypted }, [encrypted], data, { meta, encryption_version: "v0" }])
      expect(refusal(JSON.stringify(content))).toMatch(noVersion);
  });

  it.each(["null", "0", '"4"', "{}"])("is refused with the version %s", (version) => {
    expect(refusal(JSON.stringify(encrypted).replace(/}$/, `,"version":${version}}`))).toMatch(
      /^The state must be a JSON object with a member "version"/,
    );
  });
});
