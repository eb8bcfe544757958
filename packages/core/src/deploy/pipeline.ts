/** One stage of a deployment: reads `Needs`, adds `Gives`. */
export interface Step<Ctx, Needs, Gives extends object> {
  readonly name: string;
  /** Whether the step can run again after a crash. Other steps are undone, and the deployment fails. */
  readonly resumable: boolean;
  run(ctx: Ctx, state: Needs): Promise<Gives>;
  /**
   * Runs in reverse order when this or a later step fails or is cancelled. It is registered before `run`, so each
   * field of `Gives` may be missing. Must be idempotent.
   */
  undo?(ctx: Ctx, state: Needs & Partial<Gives>): Promise<void>;
}

/** A step whose types have been checked where it was added to its pipeline. */
// biome-ignore lint/suspicious/noExplicitAny: the chain `pipeline().step()` has proven that each step's needs are given.
export type AnyStep<Ctx> = Step<Ctx, any, any>;

export interface Pipeline<Ctx, State> {
  readonly steps: readonly AnyStep<Ctx>[];
  /** A step placed before what it needs does not compile. */
  step<Needs, Gives extends object>(
    step: State extends Needs ? Step<Ctx, Needs, Gives> : never,
  ): Pipeline<Ctx, State & Gives>;
}

export function pipeline<Ctx, State>(steps: readonly AnyStep<Ctx>[] = []): Pipeline<Ctx, State> {
  return {
    steps,
    step: <Needs, Gives extends object>(next: State extends Needs ? Step<Ctx, Needs, Gives> : never) =>
      pipeline<Ctx, State & Gives>([...steps, next as AnyStep<Ctx>]),
  };
}
