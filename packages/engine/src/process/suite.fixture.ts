import { rmSync } from "node:fs";
import type { ReleaseRef, ReleaseSpec, ReleaseState } from "@berth/core/deploy";
import { eventually } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { CONFORMANCE_APP } from "../conformance-app.ts";
import type { ProcessEngine, ProcessEngineOptions } from "./engine.ts";
import {
  builtSpec,
  io,
  type ProcessWorld,
  processWorld,
  type SpecOptions,
  temporaryFolder,
} from "./process.fixture.ts";

/** Folder and engine of one test; everything is removed afterwards. */
export interface ProcessSuite {
  readonly world: ProcessWorld;
  readonly runtimeFolder: string;
  /** The current engine; replaced by `reopen`. */
  readonly engine: ProcessEngine;
  /** Replaces the engine; its releases continue running. */
  reopen(options?: Partial<ProcessEngineOptions>): Promise<ProcessEngine>;
  /** Builds a release without starting it. Default: the application of the conformance suite. */
  newSpec(options?: Partial<SpecOptions>): Promise<ReleaseSpec>;
  /** Builds and starts a release, and waits until it answers. */
  started(options?: Partial<SpecOptions>): Promise<{ readonly spec: ReleaseSpec; readonly port: number }>;
  state(ref: ReleaseRef): Promise<ReleaseState>;
  lines(ref: ReleaseRef): Promise<string[]>;
  ask(port: number | undefined, path: string): Promise<string>;
}

/**
 * Call it outside of the tests, once in a test file or in a `describe`.
 * @param parent Where its data folder is made. Default: the folder for temporary files.
 */
export function processSuite(parent?: string): ProcessSuite {
  const current: { runtimeFolder?: string; world?: ProcessWorld; engine?: ProcessEngine } = {};
  const here = <Key extends keyof typeof current>(key: Key) => {
    const value = current[key];
    if (value === undefined) throw new Error(`There is no ${key} outside of a test.`);
    return value;
  };

  beforeAll(() => {
    current.runtimeFolder = temporaryFolder("berth-runtime-");
  });
  afterAll(() => rmSync(here("runtimeFolder"), { recursive: true, force: true }));
  beforeEach(() => {
    current.world = processWorld(here("runtimeFolder"), parent);
    current.engine = current.world.engine();
  });
  afterEach(async () => {
    const { engine } = suite;
    for (const release of await engine.list()) await engine.remove(release, { graceSeconds: 0 });
    await engine.close({ stopReleases: true });
    suite.world.remove();
  });

  const suite: ProcessSuite = {
    get world() {
      return here("world");
    },
    get engine() {
      return here("engine");
    },
    get runtimeFolder() {
      return here("runtimeFolder");
    },
    async reopen(options) {
      await suite.engine.close({ stopReleases: false });
      current.engine = suite.world.engine(options);
      return current.engine;
    },
    newSpec: (options = {}) =>
      builtSpec(suite.world, suite.engine, { files: { "app.mjs": CONFORMANCE_APP }, run: "node app.mjs", ...options }),
    async started(options) {
      const spec = await suite.newSpec(options);
      const { upstream } = await suite.engine.start(spec, io());
      if (upstream === null) throw new Error("The release exposes nothing.");
      await suite.ask(upstream.port, "pid");
      return { spec, port: upstream.port };
    },
    async state(ref) {
      const found = await suite.engine.inspect(ref);
      if (found === undefined) throw new Error("There is no such release.");
      return found;
    },
    async lines(ref) {
      const found: string[] = [];
      for await (const { line } of suite.engine.logs(ref, {})) found.push(line);
      return found;
    },
    ask: (port, path) => eventually(async () => (await fetch(`http://127.0.0.1:${port}/${path}`)).text()),
  };
  return suite;
}
