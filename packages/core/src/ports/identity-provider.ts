import type { ProviderKind, SignUp } from "../team/provider-kind.ts";
import type { Timestamps } from "./records.ts";

/** Whom people may sign in with, on the whole instance. */
export interface IdentityProviderRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly kind: ProviderKind;
  /** Its URL, as the provider writes it itself. */
  readonly issuer: string;
  readonly client_id: string;
  readonly sign_up: SignUp;
  /** Separated by commas. */
  readonly sign_up_domains: string;
  /** Where users who sign up by their domain become members. */
  readonly team_id: number | null;
}

/** What Berth proves itself with at a provider. */
export interface ProviderLogin extends Pick<IdentityProviderRecord, "name" | "kind" | "issuer" | "client_id"> {
  readonly client_secret: string;
}

/** One sign-in at a provider: secrets that only its answer knows. */
export interface ProviderAttempt {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** Who signed in, in the provider's words. */
export interface ProviderIdentity {
  /** Names the person at the provider for ever. */
  readonly subject: string;
  /** Lower case; `null` unless the provider says that it is verified. */
  readonly email: string | null;
  readonly name: string | null;
}

/** Speaks to providers. @throws DomainError `auth.provider_failed` */
export interface IdentityProviders {
  /** Where the browser goes to sign in. */
  authorizationUrl(login: ProviderLogin, attempt: ProviderAttempt): Promise<string>;
  /** @param query What the provider sent the browser back with, behind `?`. */
  identity(login: ProviderLogin, attempt: ProviderAttempt, query: string): Promise<ProviderIdentity>;
}

export interface StoredAttempt extends Omit<ProviderAttempt, "state"> {
  readonly provider_id: number;
  /** The user who connects an identity to themselves; `null` for a sign-in. */
  readonly linking_user_id: number | null;
  /** Who it turned out to be, where their second factor is still due. */
  readonly found_user_id: number | null;
  /** Their identity, which has to be theirs still when the second factor is sent. */
  readonly found_subject: string | null;
  /** Never later than it was at first. */
  readonly expiresAt: Date;
}

export interface IdentityRecord {
  readonly provider_id: number;
  readonly provider_name: string;
  readonly subject: string;
  readonly email: string | null;
  readonly created_at: Date;
}

type Changed<T> = { readonly [K in keyof T]?: T[K] | undefined };
/** What is left out stays. */
export type ProviderChange = Changed<
  Pick<IdentityProviderRecord, "name" | "client_id" | "sign_up" | "sign_up_domains" | "team_id"> &
    Pick<ProviderLogin, "client_secret">
>;

/** Of the whole instance: use cases ask for the root team first. */
export interface IdentityStore {
  providers(): Promise<readonly IdentityProviderRecord[]>;
  findProvider(uuid: string): Promise<IdentityProviderRecord | undefined>;
  providerOf(id: number): Promise<(IdentityProviderRecord & Pick<ProviderLogin, "client_secret">) | undefined>;
  insertProvider(
    provider: Omit<IdentityProviderRecord, "id" | "created_at" | "updated_at"> & Pick<ProviderLogin, "client_secret">,
  ): Promise<IdentityProviderRecord>;
  updateProvider(uuid: string, change: ProviderChange): Promise<IdentityProviderRecord | undefined>;
  /** With the identities that users have there. */
  deleteProvider(uuid: string): Promise<boolean>;

  /** @param hash SHA-256 (hex) of its state and of the browser's key. */
  insertAttempt(hash: string, attempt: StoredAttempt): Promise<void>;
  /** It is gone then. `undefined` for one that is unknown or has expired. */
  takeAttempt(hash: string): Promise<StoredAttempt | undefined>;

  userOf(providerId: number, subject: string): Promise<number | undefined>;
  identities(userId: number): Promise<readonly IdentityRecord[]>;
  /** @throws DomainError `resource.already_exists` where a user has it */
  insertIdentity(identity: {
    readonly provider_id: number;
    readonly subject: string;
    readonly user_id: number;
    readonly email: string | null;
  }): Promise<void>;
  deleteIdentity(userId: number, providerId: number): Promise<boolean>;
}
