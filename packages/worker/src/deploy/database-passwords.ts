import { DomainError, isDomainError } from "@berth/core";
import { PASSWORDS_UNCHANGED } from "@berth/core/database";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { textInput } from "../text-input.ts";
import type { StepContext } from "./context.ts";

/**
 * Gives a running database the passwords that its next release is started with, since an image reads its variables
 * at the first start only. One that does not run is left alone: nobody knows what it was told.
 * @throws DomainError `deploy.command_failed` before anything was stopped
 */
export async function changePasswords(
  { kind, subject, adapters, io, say }: StepContext,
  live: ReleaseRef,
  next: ReleaseSpec,
): Promise<void> {
  const asked = kind.changePasswords(subject, next);
  const { engine } = adapters;
  if (asked === undefined || engine.containers === undefined) return;
  const { input, ...command } = asked;
  const result = await engine.containers
    .command(live, command, { signal: io.signal, input: textInput(input) })
    .catch((error: unknown) => {
      if (isDomainError(error) && error.code === "resource.not_running") return undefined;
      throw error;
    });
  if (result === undefined || result.exitCode === PASSWORDS_UNCHANGED) return;
  if (result.exitCode !== 0) {
    throw new DomainError(
      "deploy.command_failed",
      `The database did not accept its new password, and continues with the old one: ${result.errors.slice(-3).join(" ")} Set the password that it has, or change it in the database.`,
    );
  }
  say("Changed the passwords inside the database.");
}
