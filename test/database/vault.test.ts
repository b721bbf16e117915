/** Encrypted values: what can decrypt them, and what can't. */
import { describe, expect, it } from "vitest";
import { checkVault, createVault } from "../../src/database/vault.ts";
import { newDatabase } from "../support/database.ts";

const vault = createVault(Buffer.alloc(32, 1));
const other = createVault(Buffer.alloc(32, 2));
const plain = Buffer.from("a secret");

describe("a sealed value", () => {
  it("can be opened by its owner, and reveals nothing", () => {
    const sealed = Buffer.from(vault.seal("ssh_keys/1/value", plain));
    expect(Buffer.from(vault.open("ssh_keys/1/value", sealed)).toString()).toBe("a secret");
    expect(sealed.includes(plain)).toBe(false);
    expect(Buffer.from(vault.seal("ssh_keys/1/value", plain)).equals(sealed)).toBe(false);
  });

  it("can't be opened for another owner, with another key, or after a change", () => {
    const sealed = Buffer.from(vault.seal("ssh_keys/1/value", plain));
    expect(() => vault.open("ssh_keys/2/value", sealed)).toThrow();
    expect(() => other.open("ssh_keys/1/value", sealed)).toThrow("another key");
    for (let position = 0; position < sealed.length; position += 1) {
      const changed = Buffer.from(sealed);
      changed[position] = (changed[position] ?? 0) ^ 1;
      expect(() => vault.open("ssh_keys/1/value", changed)).toThrow();
    }
    expect(() => vault.open("ssh_keys/1/value", sealed.subarray(0, 10))).toThrow("unknown format");
  });
});

describe("the check value", () => {
  it("accepts servers with the same key and refuses others", async () => {
    const { database, drop } = await newDatabase();
    await Promise.all([checkVault(database, vault), checkVault(database, vault)]);
    await expect(checkVault(database, vault)).resolves.toBeUndefined();
    await expect(checkVault(database, other)).rejects.toThrow("CADASTRE_ENCRYPTION_KEY");
    await drop();
  });
});
