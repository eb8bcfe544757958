import type { Artifact, ReleaseRef, ReleaseSpec, ReleaseState, StorageMount } from "@berth/core/deploy";
import type { Engine, LogLine, LogQuery } from "@berth/core/ports";
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from "vitest";

/** An engine on a machine, with the access that the conformance suite needs. */
export interface EngineWorld {
  readonly engine: Engine;
  /** Artifact of `CONFORMANCE_APP`, in the form that the engine's builds have. */
  artifact(ref: ReleaseRef): Promise<Artifact>;
  /** Drops the engine object as in a crash, without stopping anything; returns another one on the same machine. */
  reincarnate(): Promise<Engine>;
  /** Descriptions of a release's remains on the machine: folders, containers, processes. */
  leftovers(ref: ReleaseRef): Promise<readonly string[]>;
  /** File that a command hidden in a value would have created. */
  readonly marker: string;
  hasMarker(): Promise<boolean>;
  close(): Promise<void>;
}

const io = { signal: new AbortController().signal, onLine() {} };
const WAIT = { timeout: 20_000, interval: 20 };

/** Guarantees of every engine. An engine declares each capability that it lacks. */
export function engineConformance(name: string, makeWorld: () => Promise<EngineWorld>): void {
  describe(`${name} engine`, () => {
    let world: EngineWorld;
    let engine: Engine;
    let number = 0;

    beforeAll(async () => {
      world = await makeWorld();
      engine = world.engine;
    });
    afterAll(async () => {
      for (const release of await engine.list()) await engine.remove(release, { graceSeconds: 0 });
      await world.close();
    });

    async function newSpec(change: Partial<ReleaseSpec> = {}): Promise<ReleaseSpec> {
      number++;
      const ref = {
        resourceUuid: `conformance-${number}`,
        deploymentUuid: `deployment-${process.pid}-${number}`,
        ...change,
      };
      return {
        ...ref,
        resourceNumber: number,
        kind: "application",
        name: "conformance",
        artifact: await world.artifact(ref),
        env: {},
        ports: [3000],
        storages: [],
        limits: { memoryBytes: null, cpus: null },
        ...change,
      };
    }

    async function started(change: Partial<ReleaseSpec> = {}): Promise<ReleaseSpec> {
      const spec = await newSpec(change);
      await engine.start(spec, io);
      await ask(spec, "pid");
      return spec;
    }

    /** Sends a request to the release's application, and waits until it answers. */
    async function ask(ref: ReleaseRef, action: string, parameters: Record<string, string> = {}): Promise<string> {
      return vi.waitFor(async () => {
        const { upstream } = await state(ref);
        if (upstream === null) throw new Error("no upstream");
        const query = new URLSearchParams(parameters);
        const answer = await fetch(`http://${upstream.host}:${upstream.port}/${action}?${query}`);
        const body = await answer.text();
        expect([answer.status, body]).toEqual([200, body]);
        return body;
      }, WAIT);
    }

    async function state(ref: ReleaseRef): Promise<ReleaseState> {
      const found = await engine.inspect(ref);
      if (found === undefined) throw new Error("no such release");
      return found;
    }

    async function linesOf(ref: ReleaseRef, query: LogQuery = {}): Promise<LogLine[]> {
      const lines: LogLine[] = [];
      for await (const line of engine.logs(ref, query)) lines.push(line);
      return lines;
    }

    const textsOf = (lines: readonly LogLine[]) => lines.map((line) => line.line);

    describe("start", () => {
      test("runs the artifact and says where it takes requests", async () => {
        const spec = await started();
        expect(await state(spec)).toMatchObject({ state: "running", restartCount: 0, startedAt: expect.any(Date) });
        expect(await engine.list()).toContainEqual(await state(spec));
      });

      test("starts once, however often it is asked to", async () => {
        const spec = await newSpec();
        const answers = await Promise.all([engine.start(spec, io), engine.start(spec, io)]);
        expect(answers.map((answer) => answer.state)).toEqual(["running", "running"]);
        const pid = await ask(spec, "pid");
        await engine.start(spec, io);
        expect(await ask(spec, "pid")).toBe(pid);
        expect(textsOf(await linesOf(spec)).filter((line) => line === "listening")).toHaveLength(1);
      });

      test("runs two releases of one resource side by side", async () => {
        const one = await started();
        const two = await started({ resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber });
        expect((await state(one)).upstream).not.toEqual((await state(two)).upstream);
        expect(await ask(one, "env", { name: "MARK" })).toBe(await ask(two, "env", { name: "MARK" }));
        await engine.remove(two, { graceSeconds: 1 });
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
        const attack = `x'"; touch ${world.marker}; $(touch ${world.marker}) \`touch ${world.marker}\` #\ntouch ${world.marker}`;
        const spec = await started({
          name: attack,
          env: { ATTACK: attack, PS4: `$(touch ${world.marker})`, IFS: "/" },
          storages: [{ type: "volume", uuid: `storage-${process.pid}`, name: attack, mountPath: "/app/data" }],
        });
        await engine.exec(spec, "true", { timeoutSeconds: 20 });
        await engine.stop(spec, { graceSeconds: 5 });
        expect(await world.hasMarker()).toBe(false);
      });
    });

    describe("stop", () => {
      test("asks the application to end, and keeps what was built", async () => {
        const spec = await started();
        await engine.stop(spec, { graceSeconds: 10 });
        expect(await state(spec)).toMatchObject({ state: "exited", upstream: null, exitCode: 0 });
        expect(textsOf(await linesOf(spec)).at(-1)).toBe("asked to end");
        await engine.stop(spec, { graceSeconds: 10 });
        await engine.start(spec, io);
        await ask(spec, "pid");
      });

      test("does nothing to what is not there", async () => {
        const ref = { resourceUuid: "nobody", deploymentUuid: "nothing" };
        await engine.stop(ref, { graceSeconds: 1 });
        expect(await engine.inspect(ref)).toBeUndefined();
      });
    });

    describe("crash", () => {
      test("restarts what ends by itself, counts it and keeps the exit code", async () => {
        const spec = await started();
        for (const restartCount of [1, 2]) {
          await ask(spec, "exit", { code: "3" });
          await vi.waitFor(
            async () => expect(await state(spec)).toMatchObject({ state: "running", restartCount, exitCode: 3 }),
            WAIT,
          );
          await ask(spec, "pid");
        }
      });

      test("answers 128 and the signal for what a signal ended", async () => {
        const spec = await started();
        await ask(spec, "kill");
        await vi.waitFor(async () => expect(await state(spec)).toMatchObject({ restartCount: 1, exitCode: 137 }), WAIT);
      });

      test("tells listeners of every change, until they stop listening", async () => {
        const spec = await newSpec();
        const seen: string[] = [];
        const stopListening = engine.onStateChange((changed) => {
          if (changed.deploymentUuid === spec.deploymentUuid) seen.push(changed.state);
          throw new Error("a listener's own trouble");
        });
        await engine.start(spec, io);
        await ask(spec, "exit", { code: "1" });
        await vi.waitFor(() => expect(seen).toEqual(["running", "restarting", "running"]), WAIT);
        await engine.stop(spec, { graceSeconds: 5 });
        await vi.waitFor(() => expect(seen.at(-1)).toBe("exited"), WAIT);
        stopListening();
        await engine.start(spec, io);
        expect(seen).toEqual(["running", "restarting", "running", "exited"]);
      });
    });

    describe("logs", () => {
      test("answers the last lines, and continues after a cursor", async () => {
        const spec = await started();
        for (const text of ["one", "two", "three"]) await ask(spec, "log", { text });
        await vi.waitFor(async () => expect(textsOf(await linesOf(spec)).at(-1)).toBe("three"), WAIT);
        expect(textsOf(await linesOf(spec, { lines: 2 }))).toEqual(["two", "three"]);
        expect(await linesOf(spec, { lines: 0 })).toEqual([]);
        const [first, ...rest] = await linesOf(spec);
        expect(await linesOf(spec, { after: first?.cursor ?? "" })).toEqual(rest);
        expect(await linesOf(spec, { after: rest.at(-1)?.cursor ?? "" })).toEqual([]);
      });

      test("answers the lines since a moment, or says that it does not know their moments", async () => {
        const spec = await started();
        for (const text of ["one", "two", "three"]) await ask(spec, "log", { text });
        await vi.waitFor(async () => expect(textsOf(await linesOf(spec)).at(-1)).toBe("three"), WAIT);
        const since = (await linesOf(spec)).find(({ line }) => line === "two")?.moment;
        if (since === undefined) {
          const asked = linesOf(spec, { since: "2026-01-02T03:04:05Z" });
          await expect(asked).rejects.toMatchObject({ code: "engine.unsupported" });
          return;
        }
        // Lines of the same millisecond may be included.
        expect(textsOf(await linesOf(spec, { since }))).toEqual(expect.arrayContaining(["two", "three"]));
        expect(textsOf(await linesOf(spec, { since, lines: 1 }))).toEqual(["three"]);
        expect(await linesOf(spec, { since: "2999-01-02T03:04:05Z" })).toEqual([]);
      });

      test("follows without a gap or a repetition, over a new engine object and a restart", async () => {
        const spec = await started();
        const texts = Array.from({ length: 30 }, (_, at) => `line ${at}`);
        const seen: LogLine[] = [];
        const follow = (after: string | undefined) => {
          const stop = new AbortController();
          const query = { follow: true, signal: stop.signal, ...(after === undefined ? {} : { after }) };
          const done = (async () => {
            for await (const line of engine.logs(spec, query)) seen.push(line);
          })();
          return { stop, done };
        };

        let following = follow(undefined);
        for (const text of texts.slice(0, 10)) await ask(spec, "log", { text });
        await vi.waitFor(() => expect(textsOf(seen)).toContain("line 4"), WAIT);
        following.stop.abort();
        await following.done;
        engine = await world.reincarnate();
        for (const text of texts.slice(10, 20)) await ask(spec, "log", { text });
        following = follow(seen.at(-1)?.cursor);
        await engine.stop(spec, { graceSeconds: 5 });
        await engine.start(spec, io);
        for (const text of texts.slice(20)) await ask(spec, "log", { text });
        await vi.waitFor(() => expect(textsOf(seen)).toContain("line 29"), WAIT);
        following.stop.abort();
        await following.done;
        expect(textsOf(seen)).toEqual([
          "listening",
          ...texts.slice(0, 20),
          "asked to end",
          "listening",
          ...texts.slice(20),
        ]);
      });

      test("ends when the release is removed", async () => {
        const spec = await started();
        const lines = linesOf(spec, { follow: true });
        await engine.remove(spec, { graceSeconds: 5 });
        expect(textsOf(await lines)).toContain("listening");
      });

      test("says that there is no such release", async () => {
        const ref = { resourceUuid: "nobody", deploymentUuid: "nothing" };
        await expect(linesOf(ref)).rejects.toMatchObject({ code: "resource.not_found" });
      });
    });

    describe("exec", () => {
      test("runs a script as one argument, in the release's environment", async () => {
        const spec = await started({ env: { VALUE: "of the release" } });
        const script = `echo "$VALUE"; echo 'a "b" $c' >&2; exit 4`;
        const result = await engine.exec(spec, script, { timeoutSeconds: 20 });
        expect(result).toMatchObject({ exitCode: 4, isTruncated: false });
        expect(result.output.split("\n").sort()).toEqual(["", 'a "b" $c', "of the release"]);
      });

      test("ends a script that takes too long, and cuts a long output", async () => {
        const spec = await started();
        const slow = await engine.exec(spec, "echo before; sleep 300", { timeoutSeconds: 1 });
        expect(slow).toMatchObject({ exitCode: 124, output: "before\n" });
        const long = await engine.exec(spec, "printf %01000d 0", { timeoutSeconds: 20, maxOutputBytes: 100 });
        expect(long).toMatchObject({ output: "0".repeat(100), isTruncated: true });
      });

      test("says that nothing runs", async () => {
        const spec = await started();
        await engine.stop(spec, { graceSeconds: 5 });
        const running = engine.exec(spec, "true", { timeoutSeconds: 5 });
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
        await engine.remove(one, { graceSeconds: 5 });
        const same = { resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber, storages };
        const two = await started(same);
        expect(await ask(two, "read", { file: "data/file" })).toBe("kept");
        await engine.removeResource(one.resourceUuid, { deleteVolumes: false });
        const three = await started(same);
        expect(await ask(three, "read", { file: "data/file" })).toBe("kept");
        await engine.removeResource(one.resourceUuid, { deleteVolumes: true });
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
        await engine.stop(one, { graceSeconds: 5 });
        await engine.start(one, io);
        await vi.waitFor(async () => expect(await ask(one, "read", { file: "conf/app.conf" })).toBe(first), WAIT);
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
        await engine.remove(one, { graceSeconds: 5 });
        await engine.removeVolumes(one.resourceUuid, [gone]);
        await engine.removeVolumes(one.resourceUuid, [gone]);
        const two = await started({ resourceUuid: one.resourceUuid, resourceNumber: one.resourceNumber, storages });
        for (const { name } of storages) await ask(two, "append", { file: `${name}/file`, text: "new" });
        expect(await ask(two, "read", { file: "gone/file" })).toBe("new");
        expect(await ask(two, "read", { file: "kept/file" })).toBe("oldnew");
      });
    });

    describe("limits", () => {
      test("ends an application that takes more memory than it may", async (context) => {
        if (!engine.capabilities.memory_limit) return notSupported(context, "memory_limit");
        const spec = await started({ limits: { memoryBytes: 150 << 20, cpus: null } });
        await ask(spec, "allocate", { bytes: String(10 << 20) });
        const { upstream } = await state(spec);
        await fetch(`http://${upstream?.host}:${upstream?.port}/allocate?bytes=${400 << 20}`).catch(() => undefined);
        await vi.waitFor(async () => expect(await state(spec)).toMatchObject({ exitCode: 137, restartCount: 1 }), WAIT);
      });
    });

    describe("remove", () => {
      test("leaves nothing, and may be repeated", async () => {
        const spec = await started();
        await Promise.all([engine.remove(spec, { graceSeconds: 5 }), engine.remove(spec, { graceSeconds: 5 })]);
        await engine.remove(spec);
        expect(await engine.inspect(spec)).toBeUndefined();
        expect((await engine.list()).map((one) => one.deploymentUuid)).not.toContain(spec.deploymentUuid);
        expect(await world.leftovers(spec)).toEqual([]);
      });
    });

    describe("another engine object", () => {
      test("takes over what runs and starts nothing twice", async () => {
        const spec = await started();
        const pid = await ask(spec, "pid");
        const before = await state(spec);
        engine = await world.reincarnate();
        expect(await state(spec)).toEqual(before);
        await engine.start(spec, io);
        expect(await ask(spec, "pid")).toBe(pid);
        await ask(spec, "exit", { code: "5" });
        await vi.waitFor(
          async () => expect(await state(spec)).toMatchObject({ state: "running", restartCount: 1, exitCode: 5 }),
          WAIT,
        );
      });

      test("finds stopped what was stopped", async () => {
        const spec = await started();
        await engine.stop(spec, { graceSeconds: 5 });
        const before = await state(spec);
        engine = await world.reincarnate();
        expect(await state(spec)).toEqual(before);
      });
    });

    test("names the ports on which a release listens", async () => {
      const spec = await started();
      const { upstream } = await state(spec);
      // Inside a container it is the application's own port.
      expect([[upstream?.port], [3000]]).toContainEqual(await engine.listeningPorts(spec));
    });
  });
}

function notSupported(context: TestContext, capability: string): void {
  console.log(`NOT_SUPPORTED ${capability}: ${context.task.name}`);
  context.skip(`NOT_SUPPORTED ${capability}`);
}
