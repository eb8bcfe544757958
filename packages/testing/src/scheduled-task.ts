import type { SystemStores } from "@berth/core/ports";

/** Ended executions of a task, as a worker records them, the oldest first. Returns their uuids. */
export async function testExecutions(
  { scheduledTasks }: SystemStores,
  task: { readonly id: number; readonly uuid: string },
  serverId: number,
  count: number,
): Promise<readonly string[]> {
  const uuids: string[] = [];
  for (let second = 0; second < count; second += 1) {
    const at = new Date(Date.UTC(2026, 0, 2, 3, 4, second));
    await scheduledTasks.begin(task.id, at);
    const claim = () => scheduledTasks.claim([serverId], { owner: "worker", leaseSeconds: 60, at });
    let claimed = await claim();
    // Waiting executions of other tests are claimed as well, and stay running.
    while (claimed !== undefined && claimed.task_uuid !== task.uuid) claimed = await claim();
    if (claimed === undefined) throw new Error("The task does not run.");
    const hold = { uuid: claimed.execution_uuid, owner: "worker" };
    await scheduledTasks.appendOutput(hold, "2 files");
    const finished_at = new Date(at.getTime() + 1500);
    await scheduledTasks.finish(hold, { status: "success", exit_code: 0, error_details: null, finished_at });
    uuids.push(claimed.execution_uuid);
  }
  return uuids;
}
