import { Text } from "@mantine/core";

export type Tone = "good" | "busy" | "warn" | "bad" | "off";

export interface ShownState {
  readonly tone: Tone;
  readonly word: string;
  /** Explanation of the state; absent if the word is enough. */
  readonly reason?: string;
}

const MARKS: Readonly<Record<Tone, string>> = { good: "●", busy: "◐", warn: "▲", bad: "✗", off: "○" };

/**
 * Label and colour of a status.
 * @param status `state:health` as in the API.
 * @param problem Why it cannot run, if that is known.
 */
export function stateOf(status: string, problem: string | null = null): ShownState {
  const shown = shownOf(status);
  if (problem === null) return shown;
  // What should run and is stopped, or was stopped by Berth.
  return { ...shown, tone: shown.tone === "off" ? "bad" : shown.tone, reason: problem };
}

function shownOf(status: string): ShownState {
  const [state = "", health = ""] = status.split(":");
  if (state === "running") return RUNNING[health] ?? { tone: "good", word: "Running" };
  return STATES[state] ?? { tone: "off", word: wordOf(status) };
}

/** Whether something of it may run. */
export const isUp = (status: string): boolean => !/^(exited|stopped)/.test(status);

const RUNNING: Readonly<Record<string, ShownState>> = {
  healthy: { tone: "good", word: "Healthy" },
  unhealthy: { tone: "bad", word: "Unhealthy", reason: "It runs, but its health check fails." },
  unknown: { tone: "good", word: "Running", reason: "It has no health check." },
};

const STATES: Readonly<Record<string, ShownState>> = {
  starting: { tone: "busy", word: "Starting" },
  restarting: { tone: "bad", word: "Restarting", reason: "It ended and is started again. The log says why." },
  degraded: { tone: "bad", word: "Degraded", reason: "A part of it has ended or keeps restarting." },
  paused: { tone: "warn", word: "Paused", reason: "Somebody paused its containers outside of Berth." },
  removing: { tone: "busy", word: "Removing" },
  exited: { tone: "off", word: "Stopped" },
  stopped: { tone: "off", word: "Stopped" },
  queued: { tone: "busy", word: "Queued" },
  in_progress: { tone: "busy", word: "In progress" },
  running: { tone: "busy", word: "Running" },
  pending: { tone: "off", word: "Pending" },
  finished: { tone: "good", word: "Finished" },
  done: { tone: "good", word: "Done" },
  undone: { tone: "off", word: "Undone", reason: "Undone, because a later step failed." },
  success: { tone: "good", word: "Succeeded" },
  succeeded: { tone: "good", word: "Succeeded" },
  failed: { tone: "bad", word: "Failed" },
  skipped: { tone: "off", word: "Skipped" },
  "cancelled-by-user": { tone: "off", word: "Cancelled" },
  cancelled: { tone: "off", word: "Cancelled" },
};

const wordOf = (status: string): string => {
  const text = status.replace(/[:_-]+/g, " ").trim();
  return text === "" ? "Unknown" : text.charAt(0).toUpperCase() + text.slice(1);
};

/** State of something that ends: a deployment, backup or step. */
export const runStateOf = (status: string): ShownState =>
  status === "running" ? { tone: "busy", word: "In progress" } : stateOf(status);

export function State({ state, withReason = false }: { readonly state: ShownState; readonly withReason?: boolean }) {
  return (
    <span className={`state state-${state.tone}`} title={state.reason}>
      <span className="state-mark" aria-hidden>
        {MARKS[state.tone]}
      </span>
      <span>{state.word}</span>
      {withReason && state.reason !== undefined && (
        <Text span c="dimmed" size="sm" style={{ whiteSpace: "normal" }}>
          {state.reason}
        </Text>
      )}
    </span>
  );
}

export const Status = ({ status, problem }: { readonly status: string; readonly problem?: string | null }) => (
  <State state={stateOf(status, problem)} />
);
export const RunStatus = ({ status }: { readonly status: string }) => <State state={runStateOf(status)} />;
