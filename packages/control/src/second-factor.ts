import { DomainError, notFound } from "@berth/core";
import type { Clock, SystemStores } from "@berth/core/ports";
import {
  can,
  eventActor,
  RECOVERY_CODES,
  type RecoveryCodes,
  ROOT_TEAM_ID,
  readCode,
  requireAbility,
  requireConfirmation,
  type SecondFactor,
  type SecondFactorEnable,
  type SecondFactorSetup,
  secondFactorView,
  shownCode,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requireManaging } from "./member.ts";
import { newRecoveryCode, newSecret, otpauthUri, stepOf } from "./one-time-code.ts";
import { ownSession, requireOwnPasskeyUsed } from "./own-session.ts";
import type { SignInTries } from "./sign-in-tries.ts";

export interface SecondFactorDeps {
  readonly system: SystemStores;
  readonly tries: SignInTries;
  readonly clock: Clock;
  /** SHA-256, hexadecimal. */
  readonly hashToken: (secret: string) => string;
}

/**
 * After the password was found right. A code counts once.
 * @throws DomainError `auth.second_factor_required` without a code, `auth.second_factor_failed`, `rate.limited`
 */
export async function requireSecondFactor(
  { system: { secondFactors }, tries, clock, hashToken }: SecondFactorDeps,
  userId: number,
  code: string | undefined,
  whenMissing: () => void = () => undefined,
): Promise<void> {
  const factor = await secondFactors.find(userId);
  if (factor === undefined || factor.confirmed_at === null) return;
  if (code === undefined) {
    whenMissing();
    throw new DomainError("auth.second_factor_required", "Enter the code that your authenticator app shows.");
  }
  tries.enterCode(userId);
  const { kind, text } = readCode(code);
  const step = kind === "app" ? stepOf(factor.secret, text, clock.now()) : undefined;
  const isAccepted =
    kind === "recovery"
      ? await secondFactors.acceptRecoveryCode(userId, hashToken(text))
      : step !== undefined && (await secondFactors.acceptStep(userId, step));
  if (!isAccepted) throw codeFailed();
  tries.succeedCode(userId);
}

const codeFailed = () =>
  new DomainError(
    "auth.second_factor_failed",
    "This code is wrong, has expired, or was used. Wait for the next one, or enter a recovery code.",
  );

/** What a person does with their own second factor, and who may take one away. */
export function secondFactors(context: UseCaseContext) {
  const { scope, stores, system, clock, ids, hashToken } = context;

  /** Shown once: only their hashes are kept. */
  async function renewCodes(tx: SystemStores, userId: number): Promise<RecoveryCodes> {
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
    await tx.secondFactors.setRecoveryCodes(userId, codes.map(hashToken));
    return { recovery_codes: codes.map(shownCode) };
  }

  const emit = (tx: SystemStores, type: string, payload: Readonly<Record<string, unknown>>, teamId = scope.teamId) =>
    tx.forTeam(teamId, eventActor(scope.actor)).events.append({ type, resource_uuid: null, payload });

  return {
    async get(): Promise<SecondFactor> {
      return secondFactorView(await system.secondFactors.find(ownSession(scope).userId));
    },

    /** @throws DomainError `resource.state` where one is enabled, `auth.second_factor_missing` */
    async begin(): Promise<SecondFactorSetup> {
      const session = ownSession(scope);
      const { userId } = session;
      requireConfirmation(scope);
      await requireOwnPasskeyUsed(system, session);
      const account = await system.accounts.find(userId);
      if (account === undefined) throw notFound("User");
      const secret = newSecret();
      if (!(await system.secondFactors.begin(userId, ids.uuid(), secret))) {
        throw new DomainError("resource.state", "You have an authenticator app. Turn it off first to set up another.");
      }
      return { secret, uri: otpauthUri(secret, account.email) };
    },

    /**
     * The user's other sessions end: they were begun without it.
     * @throws DomainError `auth.second_factor_failed`, `resource.state` where none was begun
     */
    async enable({ code }: SecondFactorEnable): Promise<RecoveryCodes> {
      const { id, userId } = ownSession(scope);
      requireConfirmation(scope);
      await requireOwnPasskeyUsed(system, { id, userId });
      const factor = await system.secondFactors.find(userId);
      if (factor === undefined || factor.confirmed_at !== null) throw notBegun();
      const { kind, text } = readCode(code);
      const step = kind === "app" ? stepOf(factor.secret, text, clock.now()) : undefined;
      if (step === undefined) throw codeFailed();
      return await system.transaction(async (tx) => {
        if (!(await tx.secondFactors.confirm(userId, clock.now()))) throw notBegun();
        await tx.secondFactors.acceptStep(userId, step);
        await tx.accounts.deleteSessions(userId, id);
        await emit(tx, "user.second_factor_enabled", { user_id: userId });
        return await renewCodes(tx, userId);
      });
    },

    /** The old ones stop working. @throws DomainError `resource.state` without a second factor */
    async renewRecoveryCodes(): Promise<RecoveryCodes> {
      const { userId } = ownSession(scope);
      requireConfirmation(scope);
      const factor = await system.secondFactors.find(userId);
      if (factor === undefined || factor.confirmed_at === null) throw notEnabled();
      return await system.transaction(async (tx) => {
        await emit(tx, "user.recovery_codes_renewed", { user_id: userId });
        return await renewCodes(tx, userId);
      });
    },

    /** @throws DomainError `resource.state` without a second factor */
    async disable(): Promise<{ message: string }> {
      const { userId } = ownSession(scope);
      requireConfirmation(scope);
      await system.transaction(async (tx) => {
        if (!(await tx.secondFactors.delete(userId))) throw notEnabled();
        await emit(tx, "user.second_factor_disabled", { user_id: userId });
      });
      return { message: "The second factor is off." };
    },

    /**
     * For a member who lost their app or passkeys: all are taken away. A user is the same in all teams, and an owner of
     * one team must not weaken what another one relies on: those of a user of several teams are taken away only by
     * somebody who runs the instance.
     *
     * @throws DomainError `auth.missing_role`, `resource.state` for a user of other teams, or without a second factor
     */
    async reset(teamId: number, userId: number): Promise<{ message: string }> {
      requireAbility(scope, "root");
      if ((await stores.teams.find(teamId)) === undefined) throw notFound("Team");
      const member = await stores.members.find(teamId, userId);
      if (member === undefined) throw notFound("User");
      requireManaging(scope, teamId, "owner");
      const isOperator = scope.teamId === ROOT_TEAM_ID && can(scope, "root");
      const inRootTeam = isOperator ? await stores.members.find(ROOT_TEAM_ID, userId) : undefined;
      // Else an administrator of the instance would weaken its owner by way of another team.
      if (inRootTeam !== undefined) requireManaging(scope, ROOT_TEAM_ID, inRootTeam.role);
      requireConfirmation(scope);
      const others = (await system.accounts.teams(userId)).filter(({ id }) => id !== teamId);
      if (!isOperator && others.length > 0) {
        const message = "This user is in other teams, too. Ask who runs this instance to reset the second factor.";
        throw new DomainError("resource.state", message);
      }
      const { id: user_id, name } = member;
      await system.transaction(async (tx) => {
        const passkeys = await tx.passkeys.deleteAll(userId);
        if (!(await tx.secondFactors.delete(userId)) && passkeys === 0) throw notEnabled();
        await emit(tx, "member.second_factor_reset", { team_id: teamId, user_id, name }, teamId);
      });
      return { message: "The second factor was taken away. The user signs in with the password alone." };
    },
  };
}

const notBegun = () =>
  new DomainError("resource.state", "No authenticator app is being set up. Begin with POST /auth/second-factor.");

const notEnabled = () => new DomainError("resource.state", "There is no second factor.");
