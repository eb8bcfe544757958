/** Time and randomness, passed in so that rules stay pure and tests need no fake timers. */
export interface Clock {
  now(): Date;
}

export interface Ids {
  /** 24 characters `[a-z0-9]`, the first is a letter. */
  uuid(): string;
  /** Cryptographically random letters and digits. */
  secret(length: number): string;
}
