import { createHash } from "node:crypto";
import { DomainError } from "@berth/core";
import { answered } from "./cloud-http.ts";
import { CreatedSshKey, read, SshKey } from "./hetzner-answers.ts";
import { type HetznerClient, refusalIn, refused } from "./hetzner-client.ts";

interface PublicKey {
  readonly name: string;
  readonly publicKey: string;
}

/** Keys are compared by fingerprint, whatever their names. */
export async function ensureSshKey(client: HetznerClient, token: string, key: PublicKey): Promise<number> {
  const fingerprint = md5Fingerprint(key.publicKey);
  const known = await findSshKey(client, token, fingerprint);
  if (known !== undefined) return known;
  const [, last = ""] = /(\w\w:\w\w:\w\w)$/.exec(fingerprint) ?? [];
  // The second name is for a project in which another key has the first one.
  for (const name of [key.name, `${key.name} ${last.replaceAll(":", "")}`]) {
    const id = await uploadSshKey(client, token, { ...key, name });
    // Another request may have been faster.
    const found = id ?? (await findSshKey(client, token, fingerprint));
    if (found !== undefined) return found;
  }
  throw new DomainError("cloud.refused", `Hetzner has other SSH keys named ${key.name}. Rename the private key here.`);
}

async function findSshKey(client: HetznerClient, token: string, fingerprint: string): Promise<number | undefined> {
  const keys = await client.list(token, "ssh_keys", SshKey, { fingerprint });
  return keys.find((key) => key.fingerprint === fingerprint)?.id;
}

/** `undefined` if the name or the key exists already. */
async function uploadSshKey(client: HetznerClient, token: string, key: PublicKey): Promise<number | undefined> {
  const body = { name: key.name, public_key: key.publicKey };
  const answer = answered(await client.http(token, { method: "POST", path: "/ssh_keys", body }));
  const refusal = refusalIn(answer, token);
  if (refusal?.code === "uniqueness_error") return undefined;
  if (refusal !== undefined) throw refused(refusal);
  return read(CreatedSshKey, answer.body, "the new SSH key").ssh_key.id;
}

/** Hetzner's identification of keys: MD5 of the key itself, in pairs of hexadecimal digits. */
export function md5Fingerprint(publicKey: string): string {
  const [, data = ""] = publicKey.trim().split(/\s+/);
  const digest = createHash("md5").update(Buffer.from(data, "base64")).digest("hex");
  return digest.replace(/(..)(?!$)/g, "$1:");
}
