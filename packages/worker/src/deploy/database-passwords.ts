import { DomainError, isDomainError } from "@berth/core";
import { isSameLogin, keptLogin, PASSWORDS_UNCHANGED } from "@berth/core/database";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import type { Engine } from "@berth/core/ports";
import { textInput } from "../text-input.ts";
import { pause } from "../wait.ts";
import type { StepContext } from "./context.ts";

/**
 * Gives a database the passwords that its next release is started with, since an image reads its variables at the first
 * start only. One that was stopped runs again for that, where it is known to have others.
 * @throws DomainError `deploy.command_failed` before anything was stopped
 */
export async function changePasswords(ctx: StepContext, live: ReleaseRef, next: ReleaseSpec): Promise<void> {
  const { kind, subject, adapters, io, say } = ctx;
  const asked = kind.changePasswords(subject, next);
  const { engine } = adapters;
  const { containers } = engine;
  if (asked === undefined || containers === undefined) return;
  const { input, ...command } = asked;
  const attempt = () =>
    containers.command(live, command, { signal: io.signal, input: textInput(input) }).catch((error: unknown) => {
      if (isDomainError(error) && error.code === "resource.not_running") return undefined;
      throw error;
    });
  let result = await attempt();
  if (result === undefined) {
    const logins = kind.logins(ctx);
    if (logins?.live === undefined || isSameLogin(logins.live, logins.next)) return;
    say("Starts the previous release, so that the database takes its new password.");
    if ((await engine.resume(live)) === undefined) return;
  }
  const endMs = performance.now() + READY_SECONDS_MAX * 1000;
  while (!isDone(result) && performance.now() < endMs && (await isStarting(engine, live))) {
    await pause(READY_POLL_SECONDS, io.signal);
    io.signal.throwIfAborted();
    result = await attempt();
  }
  if (result?.exitCode === PASSWORDS_UNCHANGED) return;
  if (result?.exitCode !== 0) {
    const reason = result?.errors.slice(-3).join(" ") ?? "It does not run.";
    throw new DomainError(
      "deploy.command_failed",
      `The database did not accept its new password, and continues with the old one: ${reason} Set the user and the password that it has, or change them in the database.`,
    );
  }
  await recordLogin(ctx);
  say("Changed the passwords inside the database.");
}

/** Records the names and passwords that a database has from now on, which others that use it get. */
export async function recordLogin(ctx: StepContext): Promise<void> {
  const { kind, stores, subject } = ctx;
  const logins = kind.logins(ctx);
  if (logins === undefined || isSameLogin(logins.live, logins.next)) return;
  const { id, team_id } = subject.record;
  await stores.forTeam(team_id).databases.update(id, { secrets: keptLogin(logins.next) });
}

const isDone = (result: { readonly exitCode: number } | undefined): boolean =>
  result?.exitCode === 0 || result?.exitCode === PASSWORDS_UNCHANGED;

/** Whether it may accept connections in a moment. */
async function isStarting(engine: Engine, live: ReleaseRef): Promise<boolean> {
  const seen = await engine.inspect(live);
  return seen !== undefined && (seen.state !== "running" || seen.health === "starting");
}

/** A recovery after a crash takes longer than a start. */
const READY_SECONDS_MAX = 120;
const READY_POLL_SECONDS = 0.5;
