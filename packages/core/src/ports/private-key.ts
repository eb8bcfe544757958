import type { Page, Paging, Timestamps } from "./records.ts";

/** An SSH key, without its secrets. */
export interface PrivateKeyRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  /** One line as in `authorized_keys`, without a comment. */
  readonly public_key: string;
  /** SHA-256 of the public key, base64 without padding, as `ssh-keygen -l` prints it after `SHA256:`. */
  readonly fingerprint: string;
  /** Whether an application or a git source uses it. */
  readonly is_git_related: boolean;
  readonly is_http_basic_auth_enabled: boolean;
  readonly http_basic_auth_username: string | null;
}

export interface PrivateKeyFields {
  readonly name: string;
  readonly description: string | null;
  readonly public_key: string;
  readonly fingerprint: string;
  readonly is_http_basic_auth_enabled: boolean;
  readonly http_basic_auth_username: string | null;
  readonly secrets: PrivateKeySecrets;
}

/** An object that uses a key. */
export interface PrivateKeyUser {
  readonly kind: "server" | "application" | "GitHub app";
  readonly uuid: string;
  readonly name: string;
  readonly isRemoving: boolean;
}

export interface PrivateKeyStore {
  list(paging?: Paging): Promise<Page<PrivateKeyRecord>>;
  find(uuid: string): Promise<PrivateKeyRecord | undefined>;
  findById(id: number): Promise<PrivateKeyRecord | undefined>;
  findByFingerprint(fingerprint: string): Promise<PrivateKeyRecord | undefined>;
  /** @throws DomainError `resource.not_found` */
  secrets(id: number): Promise<PrivateKeySecrets>;
  /**
   * Secrets for one use. The first use records the origins of the credential; they stay until it is sent again.
   * @throws DomainError `resource.not_found`
   */
  secretsFor(id: number, use: CredentialUse, origins: readonly string[]): Promise<PrivateKeySecrets>;
  /** Secrets of several keys, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, PrivateKeySecrets>>;
  /** @throws DomainError `request.invalid` if any team of the instance has the key. */
  insert(key: PrivateKeyFields & { readonly uuid: string }): Promise<PrivateKeyRecord>;
  /** @throws DomainError `request.invalid` if another key has the fingerprint. */
  update(uuid: string, key: PrivateKeyFields): Promise<PrivateKeyRecord | undefined>;
  /** Sorted by kind, then by name. */
  users(id: number): Promise<readonly PrivateKeyUser[]>;
  /** @throws DomainError `private_key.in_use` */
  delete(uuid: string): Promise<boolean>;
}

export interface ReadKey {
  readonly type: "ed25519" | "rsa" | "ecdsa";
  /** One line as in `authorized_keys`, without a comment. */
  readonly publicKey: string;
  /** SHA-256 of the public key, base64 without padding. */
  readonly fingerprint: string;
  /**
   * MD5 of the public key, 16 pairs of hexadecimal digits separated by colons, which cloud providers identify keys
   * by.
   */
  readonly fingerprintMd5: string;
  /** The key in a format that every `ssh` and library reads; RSA in PKCS #1. */
  readonly sshKey: string;
}

/** Parses keys; nothing is stored or sent. */
export interface KeyReader {
  /**
   * @param text PEM (PKCS #1, PKCS #8 or SEC 1) or OpenSSH's own format.
   * @throws DomainError `request.invalid` with the problem of `private_key`: not a key, a public key, a passphrase,
   * an unsupported type
   */
  read(text: string): Promise<ReadKey>;
}

/** Encrypted at rest, left out of answers without `read:sensitive`. */
export interface PrivateKeySecrets {
  /** As sent, decoded: for answers. */
  readonly private_key: string;
  /** The same key in a format that every `ssh` and library reads: for connecting. */
  readonly ssh_key: string;
  readonly http_basic_auth_password: string | null;
  /** Origins that the name and password are sent to. Left out until their first use. */
  readonly login_origins?: readonly string[];
  /** Origins that the key authenticates at as a GitHub app: its API and its site. Left out until its first use. */
  readonly app_origins?: readonly string[];
}

/** How a key authenticates at a host: with its name and password, or as a GitHub app. */
export type CredentialUse = "login" | "app";
