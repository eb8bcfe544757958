import { isDatabaseUnavailable } from "@berth/core";
import type { Claim, DeploymentDeps, DeploymentOutcome } from "./deploy/claim.ts";
import { runDeployment } from "./deploy/deployment.ts";
import { keepLease, type LeaseKeeper } from "./deploy/lease-keeper.ts";
import { pause, within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Claims deployments and runs them. Limits of servers and applications are kept by the claim itself. */
export interface Queue {
  start(): void;
  /** Claims nothing more; what runs continues. */
  pause(): void;
  resume(): void;
  /** Lets running steps end within the grace time, then leaves their deployments to whoever claims them next. */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
}

interface Running {
  readonly leaseKeeper: LeaseKeeper;
  readonly ended: Promise<DeploymentOutcome>;
}

export function createQueue(deps: DeploymentDeps, wakeSignal: WakeSignal): Queue {
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
    const leaseKeeper = keepLease({ deployments: stores.deployments, lease, settings, wakeSignal, logger });
    const work = async () => {
      // We may have lost this very deployment a moment ago: what that run had begun must have ended first.
      if (earlier !== undefined) await within(settings.abortSecondsMax, earlier.ended);
      return await runDeployment(deps, claimed, leaseKeeper);
    };
    const ended = work().finally(() => {
      leaseKeeper.close();
      if (running.get(deployment.id)?.leaseKeeper === leaseKeeper) running.delete(deployment.id);
      wakeSignal.beat();
    });
    running.set(deployment.id, { leaseKeeper, ended });
  };

  const claimAll = async () => {
    const waiter = wakeSignal.follow();
    while (!stopping.signal.aborted) {
      try {
        for (let next = await nextClaim(); next !== undefined; next = await nextClaim()) run(next);
      } catch (error) {
        const report = isDatabaseUnavailable(error) ? logger.debug : logger.warn;
        report("The queue cannot be read.", { error });
        await pause(1, stopping.signal);
      }
      await waiter.next(settings.pollSeconds, stopping.signal);
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
      wakeSignal.beat();
    },
    async stop({ graceSeconds }) {
      stopping.abort();
      await loop;
      const left = [...running.values()];
      for (const { leaseKeeper } of left) leaseKeeper.giveUp(graceSeconds);
      await within(graceSeconds + settings.abortSecondsMax, Promise.all(left.map(({ ended }) => ended)));
      for (const { leaseKeeper } of left) await giveBack(leaseKeeper);
    },
  };

  /** The next worker need not wait until the lease runs out. Of a deployment that has ended nothing changes. */
  async function giveBack(leaseKeeper: LeaseKeeper): Promise<void> {
    if (leaseKeeper.isLost) return;
    await stores.deployments.renew(leaseKeeper.lease, 0).catch(() => undefined);
  }
}
