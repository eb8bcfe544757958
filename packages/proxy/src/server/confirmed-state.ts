import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path/posix";
import type { Host } from "@berth/host";

/**
 * What a synchronisation has confirmed, until anybody changes it. Each change leaves a mark of its own in a file once
 * it is made, so a control plane notices changes of another one.
 */
export interface ConfirmedState {
  /** Whether the last synchronisation confirmed this state, and nobody has changed anything since it began. */
  isCurrent(state: string): Promise<boolean>;
  /** Runs a synchronisation that brings about this state. */
  confirming(state: string, work: () => Promise<void>): Promise<void>;
  /** Runs a change of a part of it. */
  changing(work: () => Promise<void>): Promise<void>;
}

export function confirmedState(host: Host, folder: string): ConfirmedState {
  const path = join(folder, "last-change");
  let confirmed: { readonly digest: string; readonly mark: string } | undefined;

  async function leaveMark(): Promise<string> {
    const mark = randomUUID();
    await host.files.write(path, mark);
    return mark;
  }

  return {
    async isCurrent(state) {
      if (confirmed?.digest !== digestOf(state)) return false;
      return (await host.files.read(path))?.toString() === confirmed.mark;
    },
    async confirming(state, work) {
      confirmed = undefined;
      // Before the work: a change that another control plane makes during it leaves a later mark.
      const mark = await leaveMark();
      await work();
      confirmed = { digest: digestOf(state), mark };
    },
    async changing(work) {
      confirmed = undefined;
      try {
        await work();
      } finally {
        await leaveMark();
      }
    },
  };
}

const digestOf = (state: string) => createHash("sha256").update(state).digest("hex");
