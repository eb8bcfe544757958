import type { DeploymentEvent } from "@berth/core/deploy";
import { createLogUpdate } from "log-update";
import type { Output } from "../output.ts";
import { printableLine } from "../printable.ts";
import type { Screen } from "../system.ts";
import { frame } from "./frame.ts";
import { apply, type FollowState, INITIAL_STATE } from "./state.ts";

/** Display of a followed deployment. */
export interface FollowView {
  event(event: DeploymentEvent): void;
  /** Reports that the connection is lost, or (`undefined`) back. */
  trouble(sentence: string | undefined): void;
  /** Ends the live display, and leaves the shown text. */
  end(): FollowState;
}

export interface FollowViewOptions {
  readonly output: Output;
  readonly stdout: Screen;
  readonly now: () => Date;
}

/** Live steps on a terminal; plain lines otherwise and with `--verbose`; lines of JSON with `--json`. */
export function followView(options: FollowViewOptions): FollowView {
  const { isJson, isLive, isVerbose } = options.output;
  if (isJson) return jsonView(options);
  return isLive && !isVerbose ? liveView(options) : plainView(options);
}

function jsonView({ output }: FollowViewOptions): FollowView {
  let state = INITIAL_STATE;
  return {
    event: (event) => {
      state = apply(state, event);
      output.json(event);
    },
    trouble: (sentence) => sentence !== undefined && output.line(sentence),
    end: () => state,
  };
}

/** Looks continuous at little cost. */
const FRAME_MILLISECONDS = 100;

function liveView({ output, stdout, now }: FollowViewOptions): FollowView {
  const update = createLogUpdate(stdout);
  let state = INITIAL_STATE;
  let trouble: string | undefined;
  let tick = 0;
  const draw = () => {
    // The terminal may have been resized since the last frame.
    const columns = stdout.columns ?? output.columns;
    update(frame(state, { now: now(), tick: tick++, columns, colors: output.colors, trouble }));
  };
  const timer = setInterval(draw, FRAME_MILLISECONDS);
  draw();
  return {
    event: (event) => {
      state = apply(state, event);
    },
    trouble: (sentence) => {
      trouble = sentence;
    },
    end: () => {
      clearInterval(timer);
      trouble = undefined;
      draw();
      update.done();
      return state;
    },
  };
}

/** The log as it is: it reports the steps itself. Why one failed is said once, when the deployment has ended. */
function plainView({ output }: FollowViewOptions): FollowView {
  const { isColorSupported } = output.colors;
  let state = INITIAL_STATE;
  return {
    event: (event) => {
      const wasQueued = state.status === "queued";
      state = apply(state, event);
      if (event.type === "line") output.line(printableLine(withoutReason(event.line), isColorSupported));
      else if (state.status === "queued" && !wasQueued) output.line("Waiting in the queue");
    },
    trouble: (sentence) => sentence !== undefined && output.line(sentence),
    end: () => state,
  };
}

/** `build ended after 2.0 s: The build command ...` */
const withoutReason = ({ step, output }: { readonly step: string | null; readonly output: string }): string =>
  step !== null && output.startsWith(`${step} ended after `) ? output.replace(/: .*$/s, "") : output;
