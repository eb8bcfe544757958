import { DomainError } from "./errors.ts";

/** What a token may do. No ability implies another, but `root` implies all. */
export const ABILITIES = ["root", "read", "read:sensitive", "write", "write:sensitive", "deploy"] as const;
export type Ability = (typeof ABILITIES)[number];

/** The team whose operators manage the instance itself. */
export const ROOT_TEAM_ID = 0;

/** Who acts, for whom, and how far. Every store and use case is reached through one. */
export interface Scope {
  readonly teamId: number;
  readonly abilities: readonly Ability[];
  readonly actor: Actor;
}

/** A token's `expiresAt` is when it stops working; `null` for never. */
export type Actor =
  | { readonly type: "token"; readonly id: number; readonly name: string; readonly expiresAt: Date | null }
  | { readonly type: "system"; readonly name: string };

export const can = ({ abilities }: Scope, ability: Ability): boolean =>
  abilities.includes(ability) || abilities.includes("root");

/** @throws DomainError `auth.missing_ability` */
export function requireAbility(scope: Scope, ability: Ability): void {
  if (can(scope, ability)) return;
  throw new DomainError("auth.missing_ability", `Missing required permissions: ${ability}`);
}

/** Secrets are absent from answers without it. */
export const maySeeSecrets = (scope: Scope): boolean => can(scope, "read:sensitive");
