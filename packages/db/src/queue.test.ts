import { newDeployment, testApplication, testPlace, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("names the queues that hold what waits or runs, and no longer what has ended", async () => {
    const { system } = database();
    const stores = database().stores();
    const place = await testPlace(stores);
    const { server } = place;
    expect(await system.queues.busy()).toEqual(new Set());

    await stores.jobs.request([{ uuid: testUuid(), type: "server.validate", subject: { ...server, type: "server" } }]);
    expect(await system.queues.busy()).toEqual(new Set(["server.validate"]));
    const job = await system.jobs.claim(["server.validate"], [server.id], { owner: "a", leaseSeconds: 60 });
    expect(await system.queues.busy()).toEqual(new Set(["server.validate"]));
    if (job) await system.jobs.finish(job.lease, "finished", null);

    const application = await testApplication(stores, place);
    const fields = { name: "t", command: "true", frequency: "@daily", container: null, timeout: 300, enabled: true };
    const task = await stores.scheduledTasks.insert(application.id, testUuid(), fields);
    await system.scheduledTasks.begin(task.id, new Date());
    expect(await system.queues.busy()).toEqual(new Set(["scheduled_task"]));

    await stores.deployments.enqueue([newDeployment(application)]);
    expect(await system.queues.busy()).toEqual(new Set(["deployment", "scheduled_task"]));
  });
});
