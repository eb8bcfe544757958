/** What a check found. */
export interface Finding {
  /** The thing that was checked, such as `server web-1`. */
  readonly subject: string;
  /** `warning`: it works, but will not for long, or not for everybody. */
  readonly state: "ok" | "warning" | "problem";
  readonly message: string;
  /** What to do about it. */
  readonly remedy?: string;
}

export const ok = (subject: string, message: string): Finding => ({ subject, state: "ok", message });
export const warning = (subject: string, message: string, remedy: string): Finding => ({
  ...{ subject, state: "warning", message, remedy },
});
export const problem = (subject: string, message: string, remedy: string): Finding => ({
  ...{ subject, state: "problem", message, remedy },
});
