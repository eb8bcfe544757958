import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDomainError } from "@berth/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cipher, loadKeyFile } from "./cipher.ts";

const key = () => randomBytes(32);
const isUnreadable = (error: unknown) => isDomainError(error, "internal.error");
const isSetup = (error: unknown) => isDomainError(error, "setup.failed");

describe("cipher", () => {
  it("opens what it sealed, byte for byte", () => {
    const { seal, open } = cipher([key()]);
    for (const text of ["", "a", "naïve 🚢\n\0", "x".repeat(1_000_000)]) expect(open(seal(text, "p"), "p")).toBe(text);
  });

  it("seals the same text differently each time", () => {
    const { seal } = cipher([key()]);
    expect(Buffer.from(seal("same", "p"))).not.toEqual(Buffer.from(seal("same", "p")));
  });

  it("does not open in another place, with another key, or after any change", () => {
    const own = cipher([key()]);
    const sealed = own.seal("secret", "env 1");
    expect(() => own.open(sealed, "env 2")).toThrow(expect.toSatisfy(isUnreadable));
    expect(() => cipher([key()]).open(sealed, "env 1")).toThrow(expect.toSatisfy(isUnreadable));
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => own.open(changed, "env 1")).toThrow(expect.toSatisfy(isUnreadable));
    }
    for (const length of [0, 1, 13, 28]) {
      expect(() => own.open(sealed.subarray(0, length), "env 1")).toThrow(expect.toSatisfy(isUnreadable));
    }
  });

  it("seals with the newest key and opens with all", () => {
    const [old, fresh] = [key(), key()];
    const before = cipher([old]).seal("secret", "p");
    const rotated = cipher([old, fresh]);
    expect(rotated.open(before, "p")).toBe("secret");
    expect(() => cipher([old]).open(rotated.seal("secret", "p"), "p")).toThrow(expect.toSatisfy(isUnreadable));
  });

  it("refuses keys of a wrong length, and none", () => {
    for (const keys of [[], [randomBytes(16)], [key(), randomBytes(33)]]) {
      expect(() => cipher(keys)).toThrow(expect.toSatisfy(isSetup));
    }
  });
});

describe("key file", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "berth-test-key-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("is made at the first use, for its owner alone, and read at the next", async () => {
    const file = join(folder, "deep", "secret.key");
    const keys = await loadKeyFile(file);
    expect(keys.map(({ length }) => length)).toEqual([32]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await loadKeyFile(file)).toEqual(keys);
    expect(await readdir(join(folder, "deep"))).toEqual(["secret.key"]);
  });

  it("is one file when many make it at once", async () => {
    const file = join(folder, "secret.key");
    const loaded = await Promise.all(Array.from({ length: 20 }, () => loadKeyFile(file)));
    for (const keys of loaded) expect(keys).toEqual(loaded[0]);
    expect(await readdir(folder)).toEqual(["secret.key"]);
  });

  it("holds older keys above the newest", async () => {
    const file = join(folder, "secret.key");
    const [old] = await loadKeyFile(file);
    const fresh = key();
    await writeFile(file, `${await readFile(file, "utf8")}${fresh.toString("base64")}\n\n`);
    expect(await loadKeyFile(file)).toEqual([old, fresh]);
  });

  it("is refused when it holds something else, without showing it", async () => {
    const file = join(folder, "secret.key");
    for (const text of ["", "hunter2", "\n\n"]) {
      await writeFile(file, text);
      const error = await loadKeyFile(file).catch((caught: unknown) => caught);
      expect(error).toSatisfy(isSetup);
      expect(String(error)).not.toContain("hunter2");
    }
    await expect(loadKeyFile(folder)).rejects.toSatisfy(isSetup);
  });
});
