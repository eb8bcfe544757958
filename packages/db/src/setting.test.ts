import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("keeps the instance's first name against later and simultaneous requests", async () => {
    const { settings } = database().stores();
    const names = await Promise.all(["one", "two", "three"].map((fresh) => settings.instanceId(fresh)));
    expect(new Set(names).size).toBe(1);
    expect(await settings.instanceId("four")).toBe(names[0]);
  });

  it("keeps the version that clients are told until none is set", async () => {
    const { settings } = database().stores();
    expect(await settings.reportedVersion()).toBeNull();
    for (const version of ["4.1.0", "4.2.0-beta.1", null]) {
      await settings.setReportedVersion(version);
      expect(await settings.reportedVersion()).toBe(version);
    }
  });
});
