import { eventually } from "@berth/testing";
import { describe, expect, type TestContext, test } from "vitest";
import { conformanceSubject, type EngineWorld, io, textsOf } from "./conformance.fixture.ts";
import { dataConformance } from "./conformance-data.fixture.ts";
import { logsConformance } from "./conformance-logs.fixture.ts";

/** Guarantees of every engine. An engine declares each capability that it lacks. */
export function engineConformance(name: string, makeWorld: () => Promise<EngineWorld>): void {
  describe(`${name} engine`, () => {
    const subject = conformanceSubject(makeWorld);
    const { newSpec, started, ask, state, linesOf } = subject;

    describe("start", () => {
      test("runs the artifact and says where it takes requests", async () => {
        const spec = await started();
        expect(await state(spec)).toMatchObject({ state: "running", restartCount: 0, startedAt: expect.any(Date) });
        expect(await subject.engine.list()).toContainEqual(await state(spec));
      });

      test("starts once, however often it is asked to", async () => {
        const spec = await newSpec();
        const answers = await Promise.all([subject.engine.start(spec, io), subject.engine.start(spec, io)]);
        expect(answers.map((answer) => answer.state)).toEqual(["running", "running"]);
        const pid = await ask(spec, "pid");
        await subject.engine.start(spec, io);
        expect(await ask(spec, "pid")).toBe(pid);
        expect(textsOf(await linesOf(spec)).filter((line) => line === "listening")).toHaveLength(1);
      });

      test("runs two releases of one resource side by side", async () => {
        const one = await started();
        const two = await started({ resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber });
        expect((await state(one)).upstream).not.toEqual((await state(two)).upstream);
        expect(await ask(one, "env", { name: "MARK" })).toBe(await ask(two, "env", { name: "MARK" }));
        await subject.engine.remove(two, { graceSeconds: 1 });
        await ask(one, "pid");
      });

      test("gives every variable byte for byte", async () => {
        const env = {
          PLAIN: "value",
          EMPTY: "",
          SPACES: "  a  b  ",
          QUOTES: `'"\`\\'`,
          DOLLAR: `$HOME \${HOME} $$ $(id) %PATH%`,
          LINES: "a\nb\r\nc\n",
          UNICODE: "é 🐳 \u0001\u007f",
          HASH: "# no comment = x",
          LONG: "x".repeat(65_536),
          // Names that software between Berth and the application might use itself.
          env: "production",
          cat: "1",
          files: "2",
        };
        const spec = await started({ env });
        for (const [name, value] of Object.entries(env)) {
          expect(JSON.parse(await ask(spec, "env", { name }))).toBe(value);
        }
      });

      test("executes nothing that is hidden in a value", async () => {
        const attack = `x'"; touch ${subject.world.marker}; $(touch ${subject.world.marker}) \`touch ${subject.world.marker}\` #\ntouch ${subject.world.marker}`;
        const spec = await started({
          name: attack,
          env: { ATTACK: attack, PS4: `$(touch ${subject.world.marker})`, IFS: "/" },
          storages: [{ type: "volume", uuid: `storage-${process.pid}`, name: attack, mountPath: "/app/data" }],
        });
        await subject.engine.exec(spec, "true", { timeoutSeconds: 20 });
        await subject.engine.stop(spec, { graceSeconds: 5 });
        expect(await subject.world.hasMarker()).toBe(false);
      });
    });

    describe("stop", () => {
      test("asks the application to end, and keeps what was built", async () => {
        const spec = await started();
        await subject.engine.stop(spec, { graceSeconds: 10 });
        expect(await state(spec)).toMatchObject({ state: "exited", upstream: null, exitCode: 0 });
        expect(textsOf(await linesOf(spec)).at(-1)).toBe("asked to end");
        await subject.engine.stop(spec, { graceSeconds: 10 });
        await subject.engine.start(spec, io);
        await ask(spec, "pid");
      });

      test("does nothing to what is not there", async () => {
        const ref = { resourceUuid: "nobody", deploymentUuid: "nothing" };
        await subject.engine.stop(ref, { graceSeconds: 1 });
        expect(await subject.engine.inspect(ref)).toBeUndefined();
      });
    });

    describe("crash", () => {
      test("restarts what ends by itself, counts it and keeps the exit code", async () => {
        const spec = await started();
        for (const restartCount of [1, 2]) {
          await ask(spec, "exit", { code: "3" });
          await eventually(async () =>
            expect(await state(spec)).toMatchObject({ state: "running", restartCount, exitCode: 3 }),
          );
          await ask(spec, "pid");
        }
      });

      test("answers 128 and the signal for what a signal ended", async () => {
        const spec = await started();
        await ask(spec, "kill");
        await eventually(async () => expect(await state(spec)).toMatchObject({ restartCount: 1, exitCode: 137 }));
      });

      test("tells listeners of every change, until they stop listening", async () => {
        const spec = await newSpec();
        const seen: string[] = [];
        const stopListening = subject.engine.onStateChange((changed) => {
          if (changed.deploymentUuid === spec.deploymentUuid) seen.push(changed.state);
          throw new Error("a listener's own trouble");
        });
        await subject.engine.start(spec, io);
        await ask(spec, "exit", { code: "1" });
        await eventually(() => expect(seen).toEqual(["running", "restarting", "running"]));
        await subject.engine.stop(spec, { graceSeconds: 5 });
        await eventually(() => expect(seen.at(-1)).toBe("exited"));
        stopListening();
        await subject.engine.start(spec, io);
        expect(seen).toEqual(["running", "restarting", "running", "exited"]);
      });
    });

    describe("limits", () => {
      test("ends an application that takes more memory than it may", async (context) => {
        if (!subject.engine.capabilities.memory_limit) return notSupported(context, "memory_limit");
        const spec = await started({ limits: { memoryBytes: 150 << 20, cpus: null } });
        await ask(spec, "allocate", { bytes: String(10 << 20) });
        const { upstream } = await state(spec);
        if (upstream !== null) await subject.askAt(upstream, `/allocate?bytes=${400 << 20}`).catch(() => undefined);
        await eventually(async () => expect(await state(spec)).toMatchObject({ exitCode: 137, restartCount: 1 }));
      });
    });

    describe("remove", () => {
      test("leaves nothing, and may be repeated", async () => {
        const spec = await started();
        await Promise.all([
          subject.engine.remove(spec, { graceSeconds: 5 }),
          subject.engine.remove(spec, { graceSeconds: 5 }),
        ]);
        await subject.engine.remove(spec);
        expect(await subject.engine.inspect(spec)).toBeUndefined();
        expect((await subject.engine.list()).map((one) => one.deploymentUuid)).not.toContain(spec.deploymentUuid);
        expect(await subject.world.leftovers(spec)).toEqual([]);
      });
    });

    describe("another engine object", () => {
      test("takes over what runs and starts nothing twice", async () => {
        const spec = await started();
        const pid = await ask(spec, "pid");
        const before = await state(spec);
        await subject.reincarnate();
        expect(await state(spec)).toEqual(before);
        await subject.engine.start(spec, io);
        expect(await ask(spec, "pid")).toBe(pid);
        await ask(spec, "exit", { code: "5" });
        await eventually(async () =>
          expect(await state(spec)).toMatchObject({ state: "running", restartCount: 1, exitCode: 5 }),
        );
      });

      test("finds stopped what was stopped", async () => {
        const spec = await started();
        await subject.engine.stop(spec, { graceSeconds: 5 });
        const before = await state(spec);
        await subject.reincarnate();
        expect(await state(spec)).toEqual(before);
      });
    });

    logsConformance(subject);
    dataConformance(subject);

    test("names the ports on which a release listens", async () => {
      const spec = await started();
      const { upstream } = await state(spec);
      // Inside a container it is the application's own port.
      const ports = await subject.engine.listeningPorts(spec);
      expect([[{ port: upstream?.port }], [{ port: 3000 }]]).toContainEqual(ports);
    });
  });
}

function notSupported(context: TestContext, capability: string): void {
  console.log(`NOT_SUPPORTED ${capability}: ${context.task.name}`);
  context.skip(`NOT_SUPPORTED ${capability}`);
}
