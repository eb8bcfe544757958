/** What is needed to check an answer of a passkey. */
export interface PasskeyKey {
  /** Base64url. */
  readonly credential_id: string;
  /** COSE. */
  readonly public_key: Uint8Array;
  /** Uses, as the authenticator counts them; 0 where it does not. */
  readonly counter: number;
  readonly is_synced: boolean;
}

export interface PasskeyRecord extends PasskeyKey {
  readonly id: number;
  readonly user_id: number;
  readonly name: string;
  /** How the authenticator is reached, for the browser. */
  readonly transports: readonly string[];
  /** Of the dashboard's page that made it. */
  readonly origin: string;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}
