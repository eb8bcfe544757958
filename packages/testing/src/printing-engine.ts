import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import type { Engine, LogLine, LogQuery } from "@berth/core/ports";

/** An engine with only the methods that use cases call: capabilities, states and logs. */
export interface PrintingEngine extends Pick<Engine, "kind" | "capabilities" | "inspect" | "logs"> {
  /** Sets what `inspect` answers; nothing runs at first. */
  show(state: ReleaseState): void;
  /** @throws Error for a release that was removed */
  print(deploymentUuid: string, ...lines: string[]): void;
  /** Removes a release, which ends the logs being followed. */
  remove(deploymentUuid: string): void;
}

interface Output {
  readonly lines: { readonly text: string; readonly printedMs: number }[];
  isRemoved: boolean;
  wake: () => void;
}

export function printingEngine(capabilities: Partial<Engine["capabilities"]> = {}): PrintingEngine {
  const outputs = new Map<string, Output>();
  const states = new Map<string, ReleaseState>();
  const outputOf = (uuid: string): Output => {
    const output = outputs.get(uuid) ?? { lines: [], isRemoved: false, wake: () => undefined };
    outputs.set(uuid, output);
    return output;
  };
  return {
    kind: "process",
    capabilities: {
      kinds: ["application"],
      build_packs: ["nixpacks", "railpack", "static"],
      keepsBuilds: false,
      replicas: false,
      placement: false,
      port_mappings: false,
      networks: false,
      privileged_mounts: false,
      memory_limit: true,
      cpu_limit: true,
      ...capabilities,
    },
    show: (state) => void states.set(state.deploymentUuid, state),
    inspect: async ({ deploymentUuid }) => states.get(deploymentUuid),
    print(uuid, ...lines) {
      const output = outputOf(uuid);
      if (output.isRemoved) throw new Error(`${uuid} is removed.`);
      output.lines.push(...lines.map((text) => ({ text, printedMs: Date.now() })));
      output.wake();
    },
    remove(uuid) {
      const output = outputOf(uuid);
      output.isRemoved = true;
      output.wake();
    },
    logs: (ref, query) => read(outputs, ref, query),
  };
}

async function* read(
  outputs: ReadonlyMap<string, Output>,
  { deploymentUuid }: ReleaseRef,
  { lines, after, since, follow = false, signal }: LogQuery,
): AsyncGenerator<LogLine> {
  const output = outputs.get(deploymentUuid);
  if (output === undefined) throw new DomainError("resource.not_found", "Release not found.");
  const count = lines ?? output.lines.length;
  let next = after === undefined ? Math.max(0, output.lines.length - count) : Number(after) + 1;
  const sinceMs = since === undefined ? 0 : Date.parse(since);
  while (after === undefined && (output.lines[next]?.printedMs ?? sinceMs) < sinceMs) next += 1;
  while (!signal?.aborted) {
    const line = output.lines[next];
    if (line !== undefined) yield { cursor: String(next++), line: line.text, moment: "2026-01-02T03:04:05.000000006Z" };
    else if (!follow || output.isRemoved) return;
    else await change(output, signal);
  }
}

function change(output: Output, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const previous = output.wake;
    output.wake = () => {
      previous();
      resolve();
    };
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
