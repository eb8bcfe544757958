// A server that kills itself at a given moment of a given step: `BERTH_CRASH=build:middle:2`, once two deployments
// have reached it. Or it pauses at the beginning of a step while a file with its name is in a folder,
// `BERTH_PAUSE=/folder`; at the end of a step with the file `build-end`. `BERTH_CRASH_CALL=after POST /swarm/join` names a
// call to an engine instead, by a regular expression. Its time limits are shortened for tests,
// except with `BERTH_PATIENCE=product`. `BERTH_OUTAGE=2` sets for how many seconds a deployment waits for an
// unreachable server. `BERTH_SAMPLE=3` samples the usage of resources every three seconds. `BERTH_CERTIFICATES=1` looks
// at certificates every second.
import { subscribe } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { join } from "node:path";
import { type DeployStep, deploy } from "@berth/worker";
import { readConfig } from "../src/config.ts";
import { logger } from "../src/logger.ts";
import { progress } from "../src/progress.ts";
import { startServer } from "../src/server.ts";

const [crashStep, moment, count = "1"] = (process.env.BERTH_CRASH ?? "").split(":");
const MIDDLE_MS = 15;
/** A deployment that ended early never arrives; after this time the others are killed without it. */
const GATHER_MS_MAX = 20_000;

/** No handler runs and nothing is flushed, as when the kernel kills a process for lack of memory. */
function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

const gathered = Promise.withResolvers<void>();
let here = 0;

/** Waits until the given number of deployments have reached this moment. */
async function gather(): Promise<void> {
  here += 1;
  if (here === Number(count)) gathered.resolve();
  await Promise.race([gathered.promise, new Promise((resolve) => setTimeout(resolve, GATHER_MS_MAX))]);
}

/** Waits until the file is removed, or the step is aborted. */
async function pauseAt(name: string, signal: AbortSignal): Promise<void> {
  const file = join(process.env.BERTH_PAUSE ?? "/nowhere", name);
  if (!existsSync(file)) return;
  process.stdout.write(`Paused at ${name}\n`);
  while (existsSync(file) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, MIDDLE_MS));
}

// Core's table has all step names, and the pipeline has no other steps.
const steps = (deploy.steps as readonly DeployStep[]).map((step): DeployStep => {
  if (step.name !== crashStep) {
    return {
      ...step,
      run: async (context, state) => {
        await pauseAt(step.name, context.io.signal);
        const gives = await step.run(context, state);
        await pauseAt(`${step.name}-end`, context.io.signal);
        return gives;
      },
    };
  }
  return {
    ...step,
    run: async (context, state) => {
      if (moment !== "after") await gather();
      if (moment === "before") return await die();
      const running = step.run(context, state);
      if (moment === "middle") await Promise.race([running, new Promise((resolve) => setTimeout(resolve, MIDDLE_MS))]);
      else await running.then(gather);
      return await die();
    },
  };
});

const [callMoment, ...callPattern] = (process.env.BERTH_CRASH_CALL ?? "").split(" ");
const call = new RegExp(`^${callPattern.join(" ")}`);

/** Before the call is sent, when it was sent, or when the engine has answered and nothing is recorded of it. */
const CALL_MOMENTS: Readonly<Record<string, string>> = {
  before: "http.client.request.created",
  middle: "http.client.request.start",
  after: "http.client.response.finish",
};
const channel = CALL_MOMENTS[callMoment ?? ""];
if (channel !== undefined) {
  subscribe(channel, (message) => {
    const { request } = message as { readonly request: ClientRequest };
    if (!call.test(`${request.method} ${request.path}`)) return;
    if (callMoment === "middle") setTimeout(die, MIDDLE_MS);
    else void die();
  });
}

function watchedEvery(seconds: number) {
  return {
    certificateSeconds: seconds,
    certificateFirstSeconds: seconds,
    certificateGraceSeconds: 3 * seconds,
    certificateRetrySecondsMax: seconds,
    certificateKeptSeconds: seconds,
  };
}

const IMPATIENT = { leaseSeconds: 2, renewSeconds: 0.5, pollSeconds: 0.5, serverLeaseSeconds: 2, reconcileSeconds: 1 };
const outageSeconds = Number(process.env.BERTH_OUTAGE ?? 0);
const sampleSeconds = Number(process.env.BERTH_SAMPLE ?? 0);
const sampling = sampleSeconds > 0 ? { metricsSeconds: sampleSeconds } : {};
const outage = outageSeconds > 0 ? { outageSecondsMax: outageSeconds, routeSecondsMax: outageSeconds } : {};
const certificateSeconds = Number(process.env.BERTH_CERTIFICATES ?? 0);
const watching = certificateSeconds > 0 ? watchedEvery(certificateSeconds) : {};

const server = await startServer(readConfig(process.env), {
  log: logger("warn"),
  progress: progress(process.stdout),
  worker: {
    steps,
    ...(process.env.BERTH_PATIENCE === "product"
      ? {}
      : { settings: { ...IMPATIENT, ...outage, ...sampling, ...watching } }),
  },
});
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)));
