import type { Page, Paging, Timestamps } from "./records.ts";

/** A key of SSH, without what is secret of it. */
export interface PrivateKeyRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  /** One line, as in `authorized_keys`, without a comment. */
  readonly public_key: string;
  /** SHA-256 of the public key, base64 without padding: what `ssh-keygen -l` prints behind `SHA256:`. */
  readonly fingerprint: string;
  /** An application or a git source uses it. */
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
}

export interface PrivateKeyStore {
  list(paging?: Paging): Promise<Page<PrivateKeyRecord>>;
  find(uuid: string): Promise<PrivateKeyRecord | undefined>;
  findById(id: number): Promise<PrivateKeyRecord | undefined>;
  findByFingerprint(fingerprint: string): Promise<PrivateKeyRecord | undefined>;
  /** @throws DomainError `resource.not_found` */
  secrets(id: number): Promise<PrivateKeySecrets>;
  /**
   * Secrets for one use. The first use records the origins it is for; they stay until the credential is sent anew.
   * @throws DomainError `resource.not_found`
   */
  secretsFor(id: number, use: CredentialUse, origins: readonly string[]): Promise<PrivateKeySecrets>;
  /** Secrets of several at once, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, PrivateKeySecrets>>;
  /** @throws DomainError `request.invalid` when any team of the instance has the key. */
  insert(key: PrivateKeyFields & { readonly uuid: string }): Promise<PrivateKeyRecord>;
  /** @throws DomainError `request.invalid` when another key has the fingerprint. */
  update(uuid: string, key: PrivateKeyFields): Promise<PrivateKeyRecord | undefined>;
  /** By kind, then by name. */
  users(id: number): Promise<readonly PrivateKeyUser[]>;
  /** @throws DomainError `private_key.in_use` */
  delete(uuid: string): Promise<boolean>;
}

export interface ReadKey {
  readonly type: "ed25519" | "rsa" | "ecdsa";
  /** One line, as in `authorized_keys`, without a comment. */
  readonly publicKey: string;
  /** SHA-256 of the public key, base64 without padding. */
  readonly fingerprint: string;
  /** MD5 of the public key, 16 pairs of hexadecimal digits separated by colons: what cloud providers name keys by. */
  readonly fingerprintMd5: string;
  /** The key in a form that every `ssh` and library reads; RSA in PKCS #1. */
  readonly sshKey: string;
}

/** Reads keys; nothing is kept or sent anywhere. */
export interface KeyReader {
  /**
   * @param text A PEM (PKCS #1, PKCS #8 or SEC 1) or OpenSSH's own form.
   * @throws DomainError `request.invalid` that says what is wrong with `private_key`: no key, a public one, one with a
   * passphrase, a sort that is not supported
   */
  read(text: string): Promise<ReadKey>;
}

/** Encrypted at rest, absent without `read:sensitive`. */
export interface PrivateKeySecrets {
  /** As it was sent, decoded: for answers. */
  readonly private_key: string;
  /** The same key in a form that every `ssh` and library reads: for connecting. */
  readonly ssh_key: string;
  readonly http_basic_auth_password: string | null;
  /** Origin that the name and password are for. Left out until they are used. */
  readonly login_origins?: readonly string[];
  /** Origins that the key signs in at as a GitHub app: those of its API and its site. Left out until it is used. */
  readonly app_origins?: readonly string[];
}

/** What a key proves to a host: who may read repositories by name and password, or which GitHub app it is. */
export type CredentialUse = "login" | "app";
