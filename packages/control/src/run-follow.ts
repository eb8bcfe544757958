import { notFound } from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { whileTokenWorks } from "./token-watch.ts";

/** A run that can be followed: a job, backup, restore or drill. */
export interface FollowableRun<Run, View> {
  /** Name for people. */
  readonly title: string;
  readonly uuid: string;
  find(): Promise<Run | undefined>;
  view(run: Run): View;
  isOver(run: Run): boolean;
}

/**
 * The run now, and again each time that it has changed, until it has ended or was deleted.
 * @throws DomainError `resource.not_found` before anything is sent
 */
export async function followRun<Run, View extends { readonly updated_at: string | null }>(
  context: Pick<UseCaseContext, "scope" | "stores">,
  { title, uuid, find, view, isOver }: FollowableRun<Run, View>,
  signal: AbortSignal,
): Promise<AsyncIterable<View>> {
  if ((await find()) === undefined) throw notFound(title);
  return whileTokenWorks(context, signal, async function* (ended) {
    let sent: string | undefined;
    for await (const run of context.stores.runs.readings(uuid, find, ended)) {
      const viewed = view(run);
      // The time alone changes when the same output is saved again.
      const text = JSON.stringify({ ...viewed, updated_at: null });
      if (text !== sent) yield viewed;
      sent = text;
      if (isOver(run)) return;
    }
  });
}
