import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type Docker from "dockerode";
import { mayBeText } from "./answer.ts";
import { statusCodeOf } from "./status.ts";

type Dial = Docker["modem"]["dial"];
type Request = Parameters<Dial>[0];
type Callback = NonNullable<Parameters<Dial>[1]>;

/**
 * Repeats calls whose connection broke, if repeating does no harm: the first call may have taken effect without an
 * answer. Other calls fail, and the caller checks the state.
 * @param damaged Makes the error for an answer that is damaged at each attempt.
 */
export function withRepeats(docker: Docker, damaged: () => Error): Docker {
  const { modem } = docker;
  const dial: Dial = modem.dial.bind(modem);
  const ask = (request: Request) =>
    new Promise<Answer>((resolve) => dial(request, (error, value) => resolve({ error, value })));
  modem.dial = (request, callback) => {
    const kind = kindOf(request);
    if (kind === undefined) return dial(request, callback);
    // Outside the promise, so that an exception in the callback is not taken for a rejection.
    void repeated(ask, request, kind).then(({ error, value }) =>
      queueMicrotask(() => answerTo(callback, { value, error: error === DAMAGED ? damaged() : error })),
    );
  };
  return docker;
}

interface Answer {
  readonly error: Error | null;
  readonly value: unknown;
}

const answerTo = (callback: Callback | undefined, { error, value }: Answer): void =>
  callback?.(error, value as Parameters<Callback>[1]);

async function repeated(ask: (request: Request) => Promise<Answer>, request: Request, kind: Kind): Promise<Answer> {
  let pauseMs = PAUSE_MS;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(request);
    if (isBroken(request, answer)) {
      const isAnswered = answer.error === null || statusCodeOf(answer.error) !== undefined;
      if (attempt < (isAnswered ? DAMAGED_MAX : ATTEMPTS_MAX) && request.abortSignal?.aborted !== true) {
        await delay(pauseMs);
        pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
        continue;
      }
      return { value: null, error: answer.error ?? DAMAGED };
    }
    return attempt > 1 ? await kind.outcomeOf(answer, request, ask) : answer;
  }
}

const DAMAGED = new Error("The answer of the engine is not JSON");
/** Of calls without an answer. A step that lost its engine is repeated as a whole. */
const ATTEMPTS_MAX = 5;
/** Where every fourth answer is damaged, five attempts fail once in a thousand calls, and ten once in a million. */
const DAMAGED_MAX = 10;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 400;

/** Whether the connection broke, or the answer was damaged. */
function isBroken(request: Request, { error, value }: Answer): boolean {
  if (error === null) return isDamaged(request, value);
  if (statusCodeOf(error) !== undefined) return isDamagedRefusal(error);
  return !isDomainError(error) && error.name !== "AbortError" && error.name !== "TimeoutError";
}

/**
 * Callers decide by the reason of some refusals, so a damaged one is asked for again. Refusals in words without JSON
 * are those of old engines and of proxies.
 */
const isDamagedRefusal = (error: Error): boolean =>
  "json" in error && Buffer.isBuffer(error.json) && /^\s*\{|\}\s*$/.test(error.json.toString());

/** The library returns the bytes when they are not JSON. */
const isDamaged = ({ path, isStream }: Request, value: unknown): boolean =>
  isStream !== true && Buffer.isBuffer(value) && value.length > 0 && !mayBeText(path);

interface Kind {
  /** Corrects the answer of a repetition, which may only say that the first attempt had taken effect. */
  outcomeOf(answer: Answer, request: Request, ask: (request: Request) => Promise<Answer>): Answer | Promise<Answer>;
}

/** `undefined`: the call must not be repeated. */
function kindOf({ method, path, file, isStream, hijack }: Request): Kind | undefined {
  if (method === "GET" || method === "HEAD") return AS_ANSWERED;
  if (isStream === true || hijack === true) return undefined;
  if (method === "DELETE") return doneWhen(404);
  if (method === "PUT") return Buffer.isBuffer(file) ? AS_ANSWERED : undefined;
  return KINDS.find(([pattern]) => pattern.test(path.split("?")[0] ?? ""))?.[1];
}

const AS_ANSWERED: Kind = { outcomeOf: (answer) => answer };

const doneWhen = (status: number, reason = /(?:)/): Kind => ({
  outcomeOf: (answer) => {
    const isDone = statusCodeOf(answer.error) === status && reason.test(String(answer.error));
    return isDone ? { error: null, value: null } : answer;
  },
});

/** A container has the name: ours, if it has the same labels and was never used. */
const LOOKED_UP_BY_NAME: Kind = {
  async outcomeOf(answer, { options = {} }, ask) {
    const { name, Labels: labels } = options;
    if (statusCodeOf(answer.error) !== 409 || typeof name !== "string") return answer;
    const inspect = { path: `/containers/${encodeURIComponent(name)}/json`, method: "GET", statusCodes: { 200: true } };
    const { value } = await repeated(ask, inspect, AS_ANSWERED);
    return isMadeBy(labels, value) ? { error: null, value: { Id: value.Id, Warnings: [] } } : answer;
  },
};

function isMadeBy(labels: unknown, found: unknown): found is Docker.ContainerInspectInfo {
  if (typeof labels !== "object" || labels === null || typeof found !== "object" || found === null) return false;
  const { Config, State } = found as Docker.ContainerInspectInfo; // the engine's description of a container
  return State.Status === "created" && Object.entries(labels).every(([key, value]) => Config.Labels[key] === value);
}

const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^\/containers\/[^/]+\/(?:start|stop)$/, doneWhen(304)],
  [/^\/containers\/[^/]+\/exec$/, AS_ANSWERED],
  [/^\/containers\/[^/]+\/rename$/, doneWhen(400, /same name as its current name/)],
  [/^\/containers\/create$/, LOOKED_UP_BY_NAME],
  [/^\/networks\/create$/, AS_ANSWERED],
  [/^\/networks\/[^/]+\/connect$/, doneWhen(403, /already exists in network/)],
  [/^\/volumes\/create$/, AS_ANSWERED],
  [/^\/images\/.+\/tag$/, AS_ANSWERED],
];
