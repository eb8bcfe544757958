import type { StorageMount } from "@berth/core/deploy";
import { eventually } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { io, type Subject } from "./conformance.fixture.ts";

/** Commands in a release, its files and its volumes. */
export function dataConformance(subject: Subject): void {
  const { started, ask } = subject;

  describe("exec", () => {
    test("runs a script as one argument, in the release's environment", async () => {
      const spec = await started({ env: { VALUE: "of the release" } });
      const script = `echo "$VALUE"; echo 'a "b" $c' >&2; exit 4`;
      const result = await subject.engine.exec(spec, script, { timeoutSeconds: 20 });
      expect(result).toMatchObject({ exitCode: 4, isTruncated: false });
      expect(result.output.split("\n").sort()).toEqual(["", 'a "b" $c', "of the release"]);
    });

    test("ends a script that takes too long, and cuts a long output", async () => {
      const spec = await started();
      const slow = await subject.engine.exec(spec, "echo before; sleep 300", { timeoutSeconds: 1 });
      expect(slow).toMatchObject({ exitCode: 124, output: "before\n" });
      const long = await subject.engine.exec(spec, "printf %01000d 0", { timeoutSeconds: 20, maxOutputBytes: 100 });
      expect(long).toMatchObject({ output: "0".repeat(100), isTruncated: true });
    });

    test("says that nothing runs", async () => {
      const spec = await started();
      await subject.engine.stop(spec, { graceSeconds: 5 });
      const running = subject.engine.exec(spec, "true", { timeoutSeconds: 5 });
      await expect(running).rejects.toMatchObject({ code: "resource.not_running" });
    });
  });

  describe("storages", () => {
    test("outlive their releases, and their resource unless asked otherwise", async () => {
      const storages: StorageMount[] = [
        { type: "volume", uuid: `kept-${process.pid}`, name: "data", mountPath: "/app/data" },
      ];
      const one = await started({ storages });
      await ask(one, "append", { file: "data/file", text: "kept" });
      await subject.engine.remove(one, { graceSeconds: 5 });
      const same = { resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber, storages };
      const two = await started(same);
      expect(await ask(two, "read", { file: "data/file" })).toBe("kept");
      await subject.engine.removeResource(one.resourceUuid, { deleteVolumes: false });
      const three = await started(same);
      expect(await ask(three, "read", { file: "data/file" })).toBe("kept");
      await subject.engine.removeResource(one.resourceUuid, { deleteVolumes: true });
      const four = await started(same);
      await ask(four, "append", { file: "data/file", text: "new" });
      expect(await ask(four, "read", { file: "data/file" })).toBe("new");
    });

    test("that are files have their content whenever the release starts, and each release its own", async () => {
      const mount = (content: string): StorageMount => ({
        ...{ type: "file", uuid: `file-${process.pid}`, name: "conf", mountPath: "/app/conf/app.conf" },
        content,
      });
      const first = " a=1\r\n$(id) `é` 🚢";
      const one = await started({ storages: [mount(first)] });
      expect(await ask(one, "read", { file: "conf/app.conf" })).toBe(first);
      const { resourceUuid, resourceNumber } = one;
      const two = await started({ resourceUuid, resourceNumber, storages: [mount("")] });
      expect(await ask(two, "read", { file: "conf/app.conf" })).toBe("");
      expect(await ask(one, "read", { file: "conf/app.conf" })).toBe(first);
      await ask(one, "append", { file: "conf/app.conf", text: "x" });
      await subject.engine.stop(one, { graceSeconds: 5 });
      await subject.engine.start(one, io);
      await eventually(async () => expect(await ask(one, "read", { file: "conf/app.conf" })).toBe(first));
    });
  });

  describe("single volumes", () => {
    test("are removed with what is in them, and the others stay", async () => {
      const volume = (name: string) =>
        ({ type: "volume", uuid: `single-${name}-${process.pid}`, name, mountPath: `/app/${name}` }) as const;
      const gone = volume("gone");
      const storages = [gone, volume("kept")];
      const one = await started({ storages });
      for (const { name } of storages) await ask(one, "append", { file: `${name}/file`, text: "old" });
      await subject.engine.remove(one, { graceSeconds: 5 });
      await subject.engine.removeVolumes(one.resourceUuid, [gone]);
      await subject.engine.removeVolumes(one.resourceUuid, [gone]);
      const two = await started({ resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber, storages });
      for (const { name } of storages) await ask(two, "append", { file: `${name}/file`, text: "new" });
      expect(await ask(two, "read", { file: "gone/file" })).toBe("new");
      expect(await ask(two, "read", { file: "kept/file" })).toBe("oldnew");
    });
  });
}
