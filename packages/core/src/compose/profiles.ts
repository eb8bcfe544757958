import type { ComposeService } from "./schema.ts";

type Env = Readonly<Record<string, string>>;

/** Whether a service is started: if it has profiles, `COMPOSE_PROFILES` must name one of them. */
export function isActive({ profiles }: Pick<ComposeService, "profiles">, variables: Env): boolean {
  if (!profiles || profiles.length === 0) return true;
  const active = (Object.hasOwn(variables, PROFILES) ? (variables[PROFILES] ?? "") : "").split(",");
  const wanted = new Set(active.map((name) => name.trim()).filter(Boolean));
  return wanted.has("*") || profiles.some((name) => wanted.has(name));
}

/** The variables with these profiles added to `COMPOSE_PROFILES`. */
export function withProfiles(variables: Env, profiles: readonly string[]): Env {
  if (profiles.length === 0) return variables;
  const before = Object.hasOwn(variables, PROFILES) ? (variables[PROFILES] ?? "") : "";
  return { ...variables, [PROFILES]: [before, ...profiles].filter(Boolean).join(",") };
}

/** The variable that the compose tool reads. */
const PROFILES = "COMPOSE_PROFILES";
