/** Result of a check. */
export interface Finding {
  /** The checked object, such as `server web-1`. */
  readonly subject: string;
  /** `warning`: it works, but not for long or not for everyone. */
  readonly state: "ok" | "warning" | "problem";
  readonly message: string;
  /** How to fix it. */
  readonly remedy?: string;
}

export const ok = (subject: string, message: string): Finding => ({ subject, state: "ok", message });
export const warning = (subject: string, message: string, remedy: string): Finding => ({
  ...{ subject, state: "warning", message, remedy },
});
export const problem = (subject: string, message: string, remedy: string): Finding => ({
  ...{ subject, state: "problem", message, remedy },
});
