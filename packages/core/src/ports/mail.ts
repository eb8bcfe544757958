export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends mail in the background, so that nobody learns from the time of an answer whether one was sent. */
export interface Mailer {
  /** Calls `make` and sends what it answers, if anything. Failures are logged. */
  send(make: () => Promise<Mail | undefined>): void;
}
