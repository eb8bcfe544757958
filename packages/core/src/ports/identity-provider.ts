import type { GroupRole } from "../team/group-role.ts";
import type { ProviderKind, SignUp } from "../team/provider-kind.ts";
import type { Timestamps } from "./records.ts";

/** An identity provider of the instance. */
export interface IdentityProviderRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  readonly kind: ProviderKind;
  /** URL of the provider, exactly as its discovery document states it. */
  readonly issuer: string;
  readonly client_id: string;
  readonly sign_up: SignUp;
  /** Separated by commas. */
  readonly sign_up_domains: string;
  /** Team that users join when they sign up by their domain. */
  readonly team_id: number | null;
  /** Name of the claim with the groups of a person, or a path to it. */
  readonly groups_claim: string;
  readonly group_roles: readonly GroupRole[];
}

/** Credentials of Berth at a provider. Groups are asked for only where they give something. */
export interface ProviderLogin
  extends Pick<IdentityProviderRecord, "name" | "kind" | "issuer" | "client_id" | "groups_claim" | "group_roles"> {
  readonly client_secret: string;
}

/** Secrets of one sign-in; the provider's answer must match them. */
export interface ProviderAttempt {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** Code verifier of PKCE. */
  readonly verifier: string;
}

/** The signed-in person, as the provider reports them. */
export interface ProviderIdentity {
  /** Permanent identifier of the person at the provider. */
  readonly subject: string;
  /** Lower case; `null` unless the provider says that it is verified. */
  readonly email: string | null;
  readonly name: string | null;
  /** Of the person; `null` if the provider did not list them all. */
  readonly groups: readonly string[] | null;
}

/** Protocol client for providers. @throws DomainError `auth.provider_failed` */
export interface IdentityProviders {
  /** URL to send the browser to. */
  authorizationUrl(login: ProviderLogin, attempt: ProviderAttempt): Promise<string>;
  /** @param query Query of the URL that the provider redirected to, without `?`. */
  identity(login: ProviderLogin, attempt: ProviderAttempt, query: string): Promise<ProviderIdentity>;
}

export interface StoredAttempt extends Omit<ProviderAttempt, "state"> {
  readonly provider_id: number;
  /** The user who connects an identity; `null` for a sign-in. */
  readonly linking_user_id: number | null;
  /** The identified user, while their second factor is still missing. */
  readonly found_user_id: number | null;
  /** Their identity, which must still belong to them when the second factor is sent. */
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
/** Omitted fields stay as they are. */
export type ProviderChange = Changed<
  Pick<
    IdentityProviderRecord,
    "name" | "client_id" | "sign_up" | "sign_up_domains" | "team_id" | "groups_claim" | "group_roles"
  > &
    Pick<ProviderLogin, "client_secret">
>;

/** Belongs to the instance, not to a team. Use cases check for the root team first. */
export interface IdentityStore {
  providers(): Promise<readonly IdentityProviderRecord[]>;
  findProvider(uuid: string): Promise<IdentityProviderRecord | undefined>;
  providerOf(id: number): Promise<(IdentityProviderRecord & Pick<ProviderLogin, "client_secret">) | undefined>;
  insertProvider(
    provider: Omit<IdentityProviderRecord, "id" | "created_at" | "updated_at"> & Pick<ProviderLogin, "client_secret">,
  ): Promise<IdentityProviderRecord>;
  updateProvider(uuid: string, change: ProviderChange): Promise<IdentityProviderRecord | undefined>;
  /** Also deletes its identities. */
  deleteProvider(uuid: string): Promise<boolean>;

  /** @param hash SHA-256 (hex) of the attempt's state and the browser's key. */
  insertAttempt(hash: string, attempt: StoredAttempt): Promise<void>;
  /** Reads and deletes an attempt. `undefined` if it is unknown or has expired. */
  takeAttempt(hash: string): Promise<StoredAttempt | undefined>;

  userOf(providerId: number, subject: string): Promise<number | undefined>;
  identities(userId: number): Promise<readonly IdentityRecord[]>;
  /** @throws DomainError `resource.already_exists` if a user has this identity */
  insertIdentity(identity: {
    readonly provider_id: number;
    readonly subject: string;
    readonly user_id: number;
    readonly email: string | null;
  }): Promise<void>;
  deleteIdentity(userId: number, providerId: number): Promise<boolean>;
  /** Of all providers. */
  deleteIdentities(userId: number): Promise<void>;
}
