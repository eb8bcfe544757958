import type { Artifact, ReleaseRef, ReleaseSpec, ReleaseState, Upstream } from "@berth/core/deploy";
import type { Engine, LogLine, LogQuery } from "@berth/core/ports";
import { eventually } from "@berth/testing";
import { afterAll, beforeAll, expect } from "vitest";

/** An engine on a machine, with the access that the conformance suite needs. */
export interface EngineWorld {
  readonly engine: Engine;
  /** Artifact of `CONFORMANCE_APP`, in the form that the engine's builds have. */
  artifact(ref: ReleaseRef): Promise<Artifact>;
  /** Drops the engine object as in a crash, without stopping anything; returns another one on the same machine. */
  reincarnate(): Promise<Engine>;
  /** Asks the application at this address with a GET request. Default: from this machine. */
  ask?(upstream: Upstream, path: string): Promise<Answer>;
  /** Descriptions of a release's remains on the machine: folders, containers, processes. */
  leftovers(ref: ReleaseRef): Promise<readonly string[]>;
  /** File that a command hidden in a value would have created. */
  readonly marker: string;
  hasMarker(): Promise<boolean>;
  close(): Promise<void>;
}

/** Answer of an application. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

export const io = { signal: new AbortController().signal, onLine() {} };

/** The engine under test, with what the suite does to its releases. */
export interface Subject {
  readonly world: EngineWorld;
  /** Another object after `reincarnate`. */
  readonly engine: Engine;
  reincarnate(): Promise<void>;
  newSpec(change?: Partial<ReleaseSpec>): Promise<ReleaseSpec>;
  started(change?: Partial<ReleaseSpec>): Promise<ReleaseSpec>;
  /** Sends a request to the release's application, and waits until it answers. */
  ask(ref: ReleaseRef, action: string, parameters?: Record<string, string>): Promise<string>;
  /** Sends one request to an address of a release. */
  askAt(upstream: Upstream, path: string): Promise<Answer>;
  state(ref: ReleaseRef): Promise<ReleaseState>;
  linesOf(ref: ReleaseRef, query?: LogQuery): Promise<LogLine[]>;
}

/** Makes the world before the surrounding suite, and removes all of its releases at the end. */
export function conformanceSubject(makeWorld: () => Promise<EngineWorld>): Subject {
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
    // Its own words: on the process engine another program of the machine could answer on its port meanwhile.
    await eventually(async () => expect(textsOf(await linesOf(spec))).toContain("listening"));
    await ask(spec, "pid");
    return spec;
  }

  async function ask(ref: ReleaseRef, action: string, parameters: Record<string, string> = {}): Promise<string> {
    return eventually(async () => {
      const { upstream } = await state(ref);
      if (upstream === null) throw new Error("no upstream");
      const query = new URLSearchParams(parameters);
      const { status, body } = await askAt(upstream, `/${action}?${query}`);
      expect([status, body]).toEqual([200, body]);
      return body;
    });
  }

  async function askAt(upstream: Upstream, path: string): Promise<Answer> {
    if (world.ask !== undefined) return await world.ask(upstream, path);
    const answer = await fetch(`http://${upstream.host}:${upstream.port}${path}`);
    return { status: answer.status, body: await answer.text() };
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

  return {
    get world() {
      return world;
    },
    get engine() {
      return engine;
    },
    async reincarnate() {
      engine = await world.reincarnate();
    },
    newSpec,
    started,
    ask,
    askAt,
    state,
    linesOf,
  };
}

export const textsOf = (lines: readonly LogLine[]): readonly string[] => lines.map((line) => line.line);
