import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import type { DomainError } from "@berth/core";
import type { KeyReader, ReadKey } from "@berth/core/ports";
import { invalidKey } from "@berth/core/source";
import type { ParsedKey } from "ssh2";

/** Reads SSH private keys inside this process. */
export const keyReader: KeyReader = { read };

async function read(text: string): Promise<ReadKey> {
  refuseByLabel(text);
  const readable = sshForm(text);
  const key = await parsed(readable);
  const type = TYPES[key.type];
  if (type === undefined) throw unsupported();
  const sshKey = type === "rsa" ? rsaForm(createPrivateKey(key.getPrivatePEM())) : readable;
  const publicKey = key.getPublicSSH();
  return {
    type,
    publicKey: `${key.type} ${publicKey.toString("base64")}`,
    fingerprint: createHash("sha256").update(publicKey).digest("base64").replace(/=+$/, ""),
    fingerprintMd5: createHash("md5")
      .update(publicKey)
      .digest("hex")
      .replaceAll(/(..)(?!$)/g, "$1:"),
    sshKey,
  };
}

const TYPES: Readonly<Record<string, ReadKey["type"]>> = {
  "ssh-ed25519": "ed25519",
  "ssh-rsa": "rsa",
  "ecdsa-sha2-nistp256": "ecdsa",
  "ecdsa-sha2-nistp384": "ecdsa",
  "ecdsa-sha2-nistp521": "ecdsa",
};

function refuseByLabel(text: string): void {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) throw encrypted();
  if (/-----BEGIN (\w+ )*PUBLIC KEY-----/.test(text)) throw invalidKey("This is a public key. Send the private one.");
}

/** OpenSSH's own format is left as it is; others are converted to one that OpenSSH and ssh2 both read. */
function sshForm(text: string): string {
  if (text.includes("-----BEGIN OPENSSH PRIVATE KEY-----")) return text;
  const key = keyObject(text);
  if (key.asymmetricKeyType === "rsa") return rsaForm(key);
  if (key.asymmetricKeyType === "ec") return key.export({ type: "sec1", format: "pem" }).toString();
  if (key.asymmetricKeyType === "ed25519") return openSshForm(key);
  throw unsupported();
}

function keyObject(text: string): KeyObject {
  // OpenSSL writes redundant curve parameters in front of the key.
  const key = text.match(/-----BEGIN ((?:RSA |EC |DSA )?PRIVATE KEY)-----[\s\S]*?-----END \1-----/)?.[0];
  if (key === undefined) throw unreadable();
  try {
    return createPrivateKey(key);
  } catch {
    // The cause may quote the key.
    throw unreadable();
  }
}

async function parsed(sshKey: string): Promise<ParsedKey> {
  const { default: ssh2 } = await import("./ssh2.ts");
  const key = ssh2.utils.parseKey(sshKey);
  if (key instanceof Error) {
    if (/passphrase|encrypted/i.test(key.message)) throw encrypted();
    throw /private key type/.test(key.message) ? unsupported() : unreadable();
  }
  if (!key.isPrivateKey()) throw unreadable();
  if (key.type === "ssh-rsa") refuseHuge(key);
  if (!isWhole(key)) throw unreadable();
  return key;
}

/** Checked before signing: each doubling of the bits takes eight times as long, up to a minute for the longest text. */
function refuseHuge(key: ParsedKey): void {
  const { modulusLength = 0 } = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails ?? {};
  if (modulusLength > RSA_BITS_MAX) throw invalidKey(`Limit: RSA keys of at most ${RSA_BITS_MAX} bits.`);
}

/** Whether the private key belongs to the public key. */
function isWhole(key: ParsedKey): boolean {
  const probe = Buffer.from("berth");
  try {
    const signature: unknown = key.sign(probe);
    return Buffer.isBuffer(signature) && key.verify(probe, signature) === true;
  } catch {
    return false;
  }
}

/** PEM, since other signers, such as GitHub apps, cannot read OpenSSH's format. */
function rsaForm(key: KeyObject): string {
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < RSA_BITS_MIN) throw invalidKey(`An RSA key needs ${RSA_BITS_MIN} bits or more.`);
  return key.export({ type: "pkcs1", format: "pem" }).toString();
}

const RSA_BITS_MIN = 1024; // OpenSSH's `RequiredRSASize`
const RSA_BITS_MAX = 8192; // Twice the usual size, and signs within a fraction of a second.

/** `openssh-key-v1` for Ed25519: few versions of OpenSSH read its PKCS #8 form, and ssh2 does not. */
function openSshForm(key: KeyObject): string {
  const { x = "", d = "" } = key.export({ format: "jwk" });
  const [publicPart, seed] = [Buffer.from(x, "base64url"), Buffer.from(d, "base64url")];
  const name = Buffer.from("ssh-ed25519");
  const blob = Buffer.concat([field(name), field(publicPart)]);
  // Two equal numbers, by which readers check the passphrase; here there is none.
  const check = Buffer.alloc(8);
  const inner = [check, field(name), field(publicPart), field(Buffer.concat([seed, publicPart])), field(NOTHING)];
  const length = inner.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const padding = Buffer.from([1, 2, 3, 4, 5, 6, 7].slice(0, (8 - (length % 8)) % 8));
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[field(Buffer.from("none")), field(Buffer.from("none")), field(NOTHING), Buffer.from([0, 0, 0, 1])],
    ...[field(blob), field(Buffer.concat([...inner, padding]))],
  ]);
  const lines = whole.toString("base64").match(/.{1,70}/g) ?? [];
  return ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n");
}

const NOTHING = Buffer.alloc(0);

function field(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.byteLength);
  return Buffer.concat([length, bytes]);
}

const unreadable = (): DomainError =>
  invalidKey("It is damaged or cut off. Send the whole file, with its first and last line.");
const unsupported = (): DomainError => invalidKey("Keys of this sort are not supported. Use Ed25519, RSA or ECDSA.");
const encrypted = (): DomainError =>
  invalidKey(
    "It needs a passphrase, which nobody could type here. Remove it with `ssh-keygen -p -N ''`; Berth stores the key encrypted.",
  );
