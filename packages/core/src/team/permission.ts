import { DomainError } from "../errors.ts";

/** Abilities of tokens. No ability implies another, except `root`, which implies all. */
export const ABILITIES = ["root", "read", "read:sensitive", "write", "write:sensitive", "deploy", "terminal"] as const;
export type Ability = (typeof ABILITIES)[number];

/** Roles in a team, the most powerful first. */
export const ROLES = ["owner", "admin", "member"] as const;
export type Role = (typeof ROLES)[number];

/** The most that tokens of a role may do, whatever abilities they hold (D13). */
export const ROLE_ABILITIES: Readonly<Record<Role, readonly Ability[]>> = {
  owner: ABILITIES,
  admin: ABILITIES,
  member: ["read"],
};

export const roleAllows = (role: Role, ability: Ability): boolean => ROLE_ABILITIES[role].includes(ability);

/** Whether this role may add, change and remove members of the other: only owners may do that with owners. */
export const mayManage = (role: Role, other: Role): boolean =>
  role === "owner" || (role === "admin" && other !== "owner");

/** How long after entering their password a user may see secrets and do dangerous things. */
export const CONFIRMED_MINUTES = 15;

/** The team whose operators manage the instance itself. */
export const ROOT_TEAM_ID = 0;

/** The instance's own user, the actor if no other user is known. */
export const ROOT_USER_ID = 0;

/** Team, abilities and actor of a call. Every store and use case is reached through a scope. */
export interface Scope {
  readonly teamId: number;
  readonly abilities: readonly Ability[];
  readonly actor: Actor;
}

export interface PersonSession {
  readonly isConfirmed: boolean;
  /** Its team or the instance requires a second factor, which its user lacks: they may only set one up. */
  readonly lacksSecondFactor: boolean;
}

/** A token's `expiresAt` is when it stops working, `null` for never; its `role` is its user's in the team, now. */
export type Actor =
  | {
      readonly type: "token";
      readonly id: number;
      readonly name: string;
      readonly expiresAt: Date | null;
      readonly userId: number;
      readonly role: Role;
      /** Present when a person asks from a browser that they signed in with. */
      readonly session?: PersonSession | undefined;
    }
  | { readonly type: "system"; readonly name: string };

/** The instance itself acts as an owner. */
export const roleOf = ({ actor }: Scope): Role => (actor.type === "token" ? actor.role : "owner");

export const userIdOf = ({ actor }: Scope): number => (actor.type === "token" ? actor.userId : ROOT_USER_ID);

export const can = (scope: Scope, ability: Ability): boolean =>
  holds(scope, ability) && roleAllows(roleOf(scope), ability);

/**
 * @throws DomainError `auth.missing_ability`, or `auth.missing_role` if the token has the ability but its user's role
 * lacks it
 */
export function requireAbility(scope: Scope, ability: Ability): void {
  if (!holds(scope, ability)) {
    throw new DomainError("auth.missing_ability", `Missing required permissions: ${ability}`);
  }
  if (!roleAllows(roleOf(scope), ability)) throw missingRole();
}

/**
 * For writes that may also deploy with `instant_deploy`, which needs the same ability as `/deploy`.
 * @throws DomainError `auth.missing_ability`, `auth.missing_role`
 */
export function requireWrite(scope: Scope, sent: { readonly instant_deploy?: boolean | null | undefined }): void {
  requireAbility(scope, "write");
  if (sent.instant_deploy) requireAbility(scope, "deploy");
}

/**
 * Required for dangerous operations: in a browser, the user must have entered their password or used a passkey
 * recently. Tokens need no confirmation.
 * @throws DomainError `auth.confirmation_required`
 */
export function requireConfirmation({ actor }: Pick<Scope, "actor">): void {
  if (actor.type !== "token" || actor.session === undefined || actor.session.isConfirmed) return;
  throw new DomainError(
    "auth.confirmation_required",
    `This needs your password or a passkey again, within the last ${CONFIRMED_MINUTES} minutes: POST /auth/confirm.`,
  );
}

/**
 * For operations with access to Berth's own machine: only for the root team, since owners of every team may have
 * `root`.
 * @throws DomainError `auth.missing_ability`, `auth.missing_role`, `auth.root_team_only`, `auth.confirmation_required`
 */
export function requireOperator(scope: Scope): void {
  requireAbility(scope, "root");
  if (scope.teamId !== ROOT_TEAM_ID) {
    throw new DomainError("auth.root_team_only", "Only the root team may access the machine that Berth runs on.");
  }
  requireConfirmation(scope);
}

/**
 * For operations on the whole instance.
 * @param action Completes the refusal "You are not allowed to …".
 * @throws DomainError `auth.missing_ability`, `auth.missing_role`, `auth.root_team_only`
 */
export function requireRootTeam(scope: Scope, action: RootTeamAction): void {
  requireAbility(scope, "root");
  if (scope.teamId === ROOT_TEAM_ID) return;
  // The contract fixes the sentence.
  throw new DomainError("auth.root_team_only", `You are not allowed to ${action}.`);
}

/** What the root team alone may do, as refusals name it. */
export type RootTeamAction =
  | "create teams"
  | "enable the API"
  | "disable the API"
  | "read or change the settings of the instance"
  | "manage identity providers"
  | "decide how people sign in to the instance";

const holds = ({ abilities }: Scope, ability: Ability): boolean =>
  abilities.includes(ability) || abilities.includes("root");

export const missingRole = () => new DomainError("auth.missing_role", "Missing required team role.");

/**
 * Without it, secrets are left out of answers. In a browser the user must also have entered their password recently.
 */
export const maySeeSecrets = (scope: Scope): boolean =>
  can(scope, "read:sensitive") && (scope.actor.type !== "token" || scope.actor.session?.isConfirmed !== false);
