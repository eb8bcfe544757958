import { isDomainError } from "@berth/core";
import { type Claim, type DeploymentDeps, type DeploymentOutcome, runDeployment } from "./deploy/deployment.ts";
import { type Hold, holdLease } from "./deploy/hold.ts";
import type { Pulse } from "./pulse.ts";
import { pause, within } from "./wait.ts";

/** Claims deployments and runs them. Limits of servers and applications are kept by the claim itself. */
export interface Queue {
  start(): void;
  /** Claims nothing more; what runs goes on. */
  pause(): void;
  resume(): void;
  /** Lets running steps end within the grace time, then leaves their deployments to whoever claims them next. */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
}

interface Running {
  readonly hold: Hold;
  readonly ended: Promise<DeploymentOutcome>;
}

export function createQueue(deps: DeploymentDeps, pulse: Pulse): Queue {
  const { stores, settings, logger, owner } = deps;
  const running = new Map<number, Running>();
  const stopping = new AbortController();
  let isPaused = false;
  let loop: Promise<void> = Promise.resolve();

  const mayClaim = () => !isPaused && !stopping.signal.aborted && running.size < settings.concurrentDeploymentsMax;

  const claim = async (): Promise<Claim | undefined> => {
    const servers = (await stores.servers.list()).filter(deps.ownsServer).map(({ id }) => id);
    if (servers.length === 0 || !mayClaim()) return undefined;
    return (
      (await stores.deployments.claimAbandoned(owner, settings.leaseSeconds, servers)) ??
      (await stores.deployments.claimNext(owner, settings.leaseSeconds, servers))
    );
  };

  const run = (claimed: Claim) => {
    const { deployment, lease } = claimed;
    const earlier = running.get(deployment.id);
    const hold = holdLease({ deployments: stores.deployments, lease, settings, pulse, logger });
    const work = async () => {
      // We may have lost this very deployment a moment ago: what that run had begun must have ended first.
      if (earlier !== undefined) await within(settings.abortSecondsMax, earlier.ended);
      return await runDeployment(deps, claimed, hold);
    };
    const ended = work().finally(() => {
      hold.close();
      if (running.get(deployment.id)?.hold === hold) running.delete(deployment.id);
      pulse.beat();
    });
    running.set(deployment.id, { hold, ended });
  };

  const claimAll = async () => {
    const follower = pulse.follow();
    while (!stopping.signal.aborted) {
      try {
        for (let next = await nextClaim(); next !== undefined; next = await nextClaim()) run(next);
      } catch (error) {
        const report = isDomainError(error, "database.unavailable") ? logger.debug : logger.warn;
        report("The queue cannot be read.", { error });
        await pause(1, stopping.signal);
      }
      await follower.next(settings.pollSeconds, stopping.signal);
    }
  };
  const nextClaim = async () => (mayClaim() ? await claim() : undefined);

  return {
    start: () => {
      loop = claimAll();
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      pulse.beat();
    },
    async stop({ graceSeconds }) {
      stopping.abort();
      await loop;
      const left = [...running.values()];
      for (const { hold } of left) hold.giveUp(graceSeconds);
      await within(graceSeconds + settings.abortSecondsMax, Promise.all(left.map(({ ended }) => ended)));
      for (const { hold } of left) await giveBack(hold);
    },
  };

  /** The next worker need not wait until the lease runs out. Of a deployment that has ended nothing changes. */
  async function giveBack(hold: Hold): Promise<void> {
    if (hold.isLost) return;
    await stores.deployments.renew(hold.lease, 0).catch(() => undefined);
  }
}
