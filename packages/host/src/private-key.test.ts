import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { asyncCpuCost } from "@berth/core/testing";
import ssh2 from "ssh2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyReader } from "./private-key.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-key-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A key made by OpenSSH. */
function made(name: string, ...args: string[]): { readonly text: string; readonly publicKey: string } {
  const file = join(folder, name);
  execFileSync("ssh-keygen", ["-q", "-C", "someone", "-N", "", ...args, "-f", file]);
  const publicKey = readFileSync(`${file}.pub`, "utf8").split(" ").slice(0, 2).join(" ");
  return { text: readFileSync(file, "utf8"), publicKey };
}

/** Public key and fingerprints as OpenSSH computes them. */
function toldByOpenSsh(text: string) {
  const file = join(folder, `asked-${Math.random()}`);
  writeFileSync(file, text);
  chmodSync(file, 0o600);
  const publicKey = execFileSync("ssh-keygen", ["-y", "-P", "", "-f", file], { encoding: "utf8" });
  const print = (hash: string) =>
    execFileSync("ssh-keygen", ["-l", "-E", hash, "-f", file], { encoding: "utf8" }).split(" ")[1];
  writeFileSync(file, publicKey);
  return { publicKey: publicKey.trim().split(" ").slice(0, 2).join(" "), sha256: print("sha256"), md5: print("md5") };
}

/** A key of this size in valid form, with unrelated numbers. */
function hugeKey(bits: number): string {
  const odd = (length: number) => Buffer.alloc(length / 8, 0xfb).toString("base64url");
  const [half, whole] = [odd(bits / 2), odd(bits)];
  const key = { kty: "RSA", e: "AQAB", n: whole, d: whole, p: half, q: half, dp: half, dq: half, qi: half };
  return createPrivateKey({ key, format: "jwk" }).export({ type: "pkcs1", format: "pem" }).toString();
}

const refusal = async (text: string): Promise<string> => {
  try {
    await keyReader.read(text);
    return "accepted";
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error.code).toBe("request.invalid");
    expect(error.fields?.private_key?.[0]).toBe("Invalid private key.");
    return error.fields?.private_key?.[1] ?? "";
  }
};

describe("a key", () => {
  const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).privateKey;
  const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const pem = (key: KeyObject, type: "pkcs1" | "pkcs8" | "sec1") => key.export({ type, format: "pem" }).toString();

  it.each([
    ["Ed25519 of OpenSSH", () => made("ed25519", "-t", "ed25519").text, "ed25519"],
    ["RSA of OpenSSH", () => made("rsa", "-t", "rsa", "-b", "2048").text, "rsa"],
    ["ECDSA of OpenSSH", () => made("ecdsa", "-t", "ecdsa", "-b", "384").text, "ecdsa"],
    ["RSA of OpenSSH as PKCS #1", () => made("rsa-pem", "-t", "rsa", "-b", "2048", "-m", "PEM").text, "rsa"],
    ["RSA of OpenSSH as PKCS #8", () => made("rsa-8", "-t", "rsa", "-b", "2048", "-m", "PKCS8").text, "rsa"],
    ["Ed25519 as PKCS #8", () => pem(generateKeyPairSync("ed25519").privateKey, "pkcs8"), "ed25519"],
    ["RSA as PKCS #1", () => pem(rsa(), "pkcs1"), "rsa"],
    ["RSA as PKCS #8", () => pem(rsa(), "pkcs8"), "rsa"],
    ["P-256 as SEC 1", () => pem(ec("P-256"), "sec1"), "ecdsa"],
    ["P-384 as PKCS #8", () => pem(ec("P-384"), "pkcs8"), "ecdsa"],
    ["P-521 as SEC 1", () => pem(ec("P-521"), "sec1"), "ecdsa"],
    [
      "P-256 behind its parameters",
      () => `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${pem(ec("P-256"), "sec1")}`,
      "ecdsa",
    ],
  ] as const)("%s is read as OpenSSH reads it, into a form that OpenSSH and ssh2 read", async (_, make, type) => {
    const key = await keyReader.read(make());
    const told = toldByOpenSsh(key.sshKey);
    expect({ ...key, sshKey: "" }).toEqual({
      type,
      publicKey: told.publicKey,
      fingerprint: told.sha256?.replace("SHA256:", ""),
      fingerprintMd5: told.md5?.replace("MD5:", ""),
      sshKey: "",
    });
    expect(ssh2.utils.parseKey(key.sshKey)).not.toBeInstanceOf(Error);
  });

  it("of one pair has one fingerprint, whatever form it comes in", async () => {
    const key = rsa();
    const { fingerprint, publicKey } = await keyReader.read(pem(key, "pkcs1"));
    expect(await keyReader.read(pem(key, "pkcs8"))).toMatchObject({ fingerprint, publicKey });
    const ed25519 = generateKeyPairSync("ed25519").privateKey;
    const first = await keyReader.read(pem(ed25519, "pkcs8"));
    expect(await keyReader.read(first.sshKey)).toEqual(first);
  });

  it("of RSA is in PKCS #1 afterwards, which also what signs tokens reads", async () => {
    const { sshKey } = await keyReader.read(made("rsa-openssh", "-t", "rsa", "-b", "2048").text);
    expect(sshKey).toMatch(/^-----BEGIN RSA PRIVATE KEY-----/);
    expect(createPrivateKey(sshKey).asymmetricKeyType).toBe("rsa");
  });

  it("keeps OpenSSH's form byte for byte, for Ed25519", async () => {
    const { text } = made("kept", "-t", "ed25519");
    expect((await keyReader.read(text)).sshKey).toBe(text);
  });
});

describe("refuses, with a sentence that says what to do,", () => {
  it.each([
    ["OpenSSH", () => readFileSync(withPassphrase("openssh"), "utf8")],
    ["PKCS #1", () => readFileSync(withPassphrase("pkcs1", "-t", "rsa", "-b", "2048", "-m", "PEM"), "utf8")],
    [
      "PKCS #8",
      () =>
        generateKeyPairSync("ed25519")
          .privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" })
          .toString(),
    ],
  ])("a key with a passphrase in the form of %s", async (_, make) => {
    expect(await refusal(make())).toMatch(/needs a passphrase.*ssh-keygen -p/);
  });

  it("a public key", async () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    expect(await refusal(publicKey.export({ type: "spki", format: "pem" }).toString())).toMatch(/public key/);
    expect(await refusal(publicKey.export({ type: "pkcs1", format: "pem" }).toString())).toMatch(/public key/);
  });

  it("a sort that ssh does not have", async () => {
    const pkcs8 = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();
    const others = [
      pkcs8(generateKeyPairSync("ed448").privateKey),
      pkcs8(generateKeyPairSync("x25519").privateKey),
      pkcs8(generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 }).privateKey),
      pkcs8(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey),
    ];
    for (const text of others) expect(await refusal(text)).toMatch(/not supported|damaged/);
  });

  it("an RSA key that OpenSSH takes for too short", async () => {
    const text = createPrivateKey({ key: RSA_512 }).export({ type: "pkcs1", format: "pem" }).toString();
    expect(await refusal(text)).toMatch(/1024 bits/);
  });

  it("an RSA key that takes seconds to sign with, before it signs anything", async () => {
    const key = hugeKey(32_768);
    const refused = async () => expect(await refusal(key)).toMatch(/8192 bits/);
    expect(await asyncCpuCost(refused)).toBeLessThan(60);
  });

  it("what is cut off, changed or no key at all", async () => {
    const { text } = made("cut", "-t", "ed25519");
    const lines = text.split("\n");
    const changed = lines.map((line, index) => (index === 3 ? flip(line) : line)).join("\n");
    for (const broken of [text.slice(0, 200), lines.toSpliced(2, 1).join("\n"), changed, "-----BEGIN", ""]) {
      expect(await refusal(broken)).toMatch(/damaged/);
    }
  });

  it("without a word of the key", async () => {
    const { text } = made("quiet", "-t", "ed25519");
    const secret = text.split("\n")[3] ?? "-";
    for (const broken of [text.replace("OPENSSH", "RSA"), text.slice(0, -60)]) {
      try {
        await keyReader.read(broken);
        expect.unreachable();
      } catch (error) {
        expect(JSON.stringify([error, String(error), (error as Error).cause ?? ""])).not.toContain(secret);
      }
    }
  });
});

function withPassphrase(name: string, ...args: string[]): string {
  const file = join(folder, `locked-${name}`);
  execFileSync("ssh-keygen", ["-q", "-N", "a secret", ...args, "-f", file]);
  return file;
}

const flip = (line: string) => line.replace(/^./, (first) => (first === "A" ? "B" : "A"));

const RSA_512 = generateKeyPairSync("rsa", { modulusLength: 512 }).privateKey.export({ type: "pkcs8", format: "pem" });
