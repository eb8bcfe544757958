import type { ComposeService } from "./schema.ts";

type Env = Readonly<Record<string, string>>;

/** Whether a service of a text is started: one with profiles, only when `COMPOSE_PROFILES` names one of them. */
export function isActive({ profiles }: Pick<ComposeService, "profiles">, variables: Env): boolean {
  if (!profiles || profiles.length === 0) return true;
  const active = (Object.hasOwn(variables, PROFILES) ? (variables[PROFILES] ?? "") : "").split(",");
  const wanted = new Set(active.map((name) => name.trim()).filter(Boolean));
  return wanted.has("*") || profiles.some((name) => wanted.has(name));
}

/** Variables by which these are started, beside those that were before. */
export function withProfiles(variables: Env, profiles: readonly string[]): Env {
  if (profiles.length === 0) return variables;
  const before = Object.hasOwn(variables, PROFILES) ? (variables[PROFILES] ?? "") : "";
  return { ...variables, [PROFILES]: [before, ...profiles].filter(Boolean).join(",") };
}

/** As the compose tool itself knows it. */
const PROFILES = "COMPOSE_PROFILES";
