import type { Ability, ChallengePurpose, GroupRole, ProviderKind, Role, SignUp } from "@berth/core/team";
import type { WebhookAnswer, WebhookProvider } from "@berth/core/webhook";
import type { Generated } from "kysely";
import type { Json, NullableJson, Timestamps } from "./column.ts";

export interface TeamTable extends Timestamps {
  id: Generated<number>;
  name: string;
  description: string | null;
  personal_team: Generated<boolean>;
  show_boarding: Generated<boolean>;
  second_factor_required: Generated<boolean>;
}

export interface UserTable extends Timestamps {
  id: Generated<number>;
  name: string;
  email: string;
  password_hash: Generated<string | null>;
}

export interface TeamMemberTable {
  team_id: number;
  user_id: number;
  role: Role;
  /** When the user joined the team; their sessions can use it only afterwards. */
  accepted_at: Generated<Date | null>;
  /** Its groups give the membership. */
  provider_id: Generated<number | null>;
  created_at: Generated<Date>;
}

export interface SignInLinkTable {
  /** SHA-256 (hex) of its code. */
  hash: string;
  user_id: number;
  team_id: number;
  replaces_password: boolean;
  expires_at: Date;
  created_at: Generated<Date>;
}

export interface SecondFactorTable {
  user_id: number;
  uuid: string;
  secret: Uint8Array;
  confirmed_at: Generated<Date | null>;
  /** The newest time step of which a code was accepted. */
  last_step: Generated<number>;
  created_at: Generated<Date>;
}

export interface RecoveryCodeTable {
  user_id: number;
  /** SHA-256 (hex). */
  hash: string;
}

export interface PasskeyTable {
  id: Generated<number>;
  user_id: number;
  name: string;
  credential_id: string;
  /** Base64url: columns of bytes are encrypted ones, and this is public. */
  public_key: string;
  counter: number;
  transports: Json<readonly string[]>;
  origin: string;
  is_synced: boolean;
  created_at: Generated<Date>;
  last_used_at: Generated<Date | null>;
}

export interface PasskeyChallengeTable {
  /** SHA-256 (hex). */
  hash: string;
  purpose: ChallengePurpose;
  user_id: number | null;
  expires_at: Date;
}

export interface IdentityProviderTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  name: string;
  kind: ProviderKind;
  issuer: string;
  client_id: string;
  client_secret: Uint8Array;
  sign_up: SignUp;
  sign_up_domains: string;
  team_id: number | null;
  groups_claim: Generated<string>;
  group_roles: Json<readonly GroupRole[]>;
}

export interface IdentityTable {
  provider_id: number;
  subject: string;
  user_id: number;
  email: string | null;
  created_at: Generated<Date>;
}

export interface ProviderAttemptTable {
  /** SHA-256 (hex) of its state and of the browser's key. */
  hash: string;
  provider_id: number;
  redirect_uri: string;
  nonce: string;
  verifier: string;
  linking_user_id: number | null;
  found_user_id: number | null;
  found_subject: string | null;
  expires_at: Date;
}

export interface TokenTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  /** Sessions belong to browsers; only they have a device, an address and a time of confirmation. */
  kind: Generated<"api" | "session">;
  device: Generated<string | null>;
  address: Generated<string | null>;
  confirmed_at: Generated<Date | null>;
  /** Which its user signed in or confirmed with. */
  passkey_id: Generated<number | null>;
  name: string;
  abilities: Json<readonly Ability[]>;
  /** SHA-256 (hex) of the secret part. */
  hash: string;
  expires_at: Date | null;
  last_used_at: Date | null;
  created_at: Generated<Date>;
}

export interface PrivateKeyTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  public_key: string;
  fingerprint: string;
  is_http_basic_auth_enabled: boolean;
  http_basic_auth_username: string | null;
  secrets: Uint8Array;
}

export interface GithubAppTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  organization: string | null;
  api_url: string;
  html_url: string;
  custom_user: string;
  custom_port: number;
  app_id: number;
  installation_id: number;
  client_id: string;
  is_system_wide: boolean;
  private_key_id: number;
  secrets: Uint8Array;
}

export interface WebhookDeliveryTable {
  provider: WebhookProvider;
  owner: string;
  delivery_id: string;
  answer: NullableJson<WebhookAnswer>;
  created_at: Generated<Date>;
}

export interface ProjectTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
}

export interface EnvironmentTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  project_id: number;
  name: string;
  description: string | null;
}

export interface TagTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
}

export interface ResourceTagTable {
  resource_id: number;
  tag_id: number;
}
