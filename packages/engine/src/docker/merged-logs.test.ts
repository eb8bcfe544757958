import type { LogLine, LogQuery } from "@berth/core/ports";
import { until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { cursorText } from "./log-cursor.ts";
import { type MergedLogPlace, readMergedLog } from "./merged-logs.ts";

// Nothing here takes long, and what waits for ever should be reported soon.
describe("the merged log of several containers", { timeout: 20_000 }, () => {
  test("a follower gets the lines of all containers, of those that are added too, until the release has none", async () => {
    const release = new FakeRelease();
    release.add("web-1");
    release.add("web-2");
    const { seen, ended } = followed(release);
    release.print("web-1", "a");
    release.print("web-2", "b");
    await until(() => seen.length === 2, { seconds: 2, what: "two lines arrive" });
    release.add("web-3");
    release.print("web-3", "c");
    await until(() => seen.length === 3, { seconds: 2, what: "a line of the added container arrives" });
    for (const title of ["web-1", "web-2", "web-3"]) release.remove(title);
    await ended;
    expect(seen.map(({ container, line }) => `${container} ${line}`).sort()).toEqual(["web-1 a", "web-2 b", "web-3 c"]);
    expect(release.open).toBe(0);
  });

  test("a follower who continues after a cursor misses and repeats nothing, also of a container that was removed", async () => {
    const release = new FakeRelease();
    for (const title of ["web-1", "web-2", "web-3"]) release.add(title);
    const stop = new AbortController();
    const { seen, ended } = followed(release, { signal: stop.signal });
    for (const title of ["web-1", "web-2", "web-3"]) release.print(title, "before");
    await until(() => seen.length === 3, { seconds: 2, what: "three lines arrive" });
    release.remove("web-3");
    await until(() => release.open === 2, { seconds: 2, what: "the removed container is not followed any more" });
    release.print("web-1", "last");
    await until(() => seen.length === 4, { seconds: 2, what: "the next line arrives" });
    stop.abort();
    await ended;
    expect(seen[3]?.cursor.split("~")).toHaveLength(2);
    release.print("web-1", "after 1");
    release.print("web-2", "after 2");
    const again = followed(release, { after: seen[3]?.cursor ?? "" });
    await until(() => again.seen.length === 2, { seconds: 2, what: "the lines after it arrive" });
    release.remove("web-1");
    release.remove("web-2");
    await again.ended;
    expect(again.seen.map(({ line }) => line).sort()).toEqual(["after 1", "after 2"]);
  });

  test("the only container gets its title, and a cursor of all, once another one is added", async () => {
    const release = new FakeRelease();
    release.hidesOnly = true;
    release.add("web-1");
    const stop = new AbortController();
    const { seen, ended } = followed(release, { signal: stop.signal });
    release.print("web-1", "a");
    await until(() => seen.length === 1, { seconds: 2, what: "the first line arrives" });
    release.add("web-2");
    release.print("web-2", "b");
    await until(() => seen.length === 2, { seconds: 2, what: "the line of the other arrives" });
    release.print("web-1", "c");
    await until(() => seen.length === 3, { seconds: 2, what: "the next line arrives" });
    stop.abort();
    await ended;
    expect(seen.map(({ container, line }) => [container, line])).toEqual([
      [undefined, "a"],
      ["web-2", "b"],
      ["web-1", "c"],
    ]);
    release.print("web-2", "d");
    const again = followed(release, { after: seen[2]?.cursor ?? "" });
    await until(() => again.seen.length > 0, { seconds: 2, what: "the line after it arrives" });
    release.remove("web-1");
    release.remove("web-2");
    await again.ended;
    expect(again.seen.map(({ line }) => line)).toEqual(["d"]);
  });

  test("a log whose container remains is continued where it ended", async () => {
    const release = new FakeRelease();
    release.add("web-1");
    release.add("web-2");
    const { seen, ended } = followed(release);
    release.print("web-1", "a");
    await until(() => seen.length === 1, { seconds: 2, what: "a line arrives" });
    release.cut("web-1");
    release.print("web-1", "b");
    await until(() => seen.length === 2, { seconds: 2, what: "the next line arrives" });
    release.remove("web-1");
    release.remove("web-2");
    await ended;
    expect(seen.map(({ line }) => line)).toEqual(["a", "b"]);
  });

  test("a log that fails ends the others and is reported as it is", async () => {
    const release = new FakeRelease();
    release.add("web-1");
    release.add("web-2");
    const { ended } = followed(release);
    await until(() => release.open === 2, { seconds: 2, what: "both are followed" });
    release.fail("web-2", new Error("The engine is away."));
    await expect(ended).rejects.toThrow("The engine is away.");
    expect(release.open).toBe(0);
  });

  test("a reader who leaves ends all logs", async () => {
    const release = new FakeRelease();
    release.add("web-1");
    release.add("web-2");
    release.print("web-1", "a");
    for await (const { line } of readMergedLog(release, { follow: true })) {
      expect(line).toBe("a");
      break;
    }
    expect(release.open).toBe(0);
  });
});

function followed(release: FakeRelease, query: LogQuery = {}) {
  const seen: LogLine[] = [];
  const ended = (async () => {
    for await (const line of readMergedLog(release, { ...query, follow: true })) seen.push(line);
  })();
  // Handled by the test, which may await it only after something else failed.
  ended.catch(() => {});
  return { seen, ended };
}

interface FakeLog {
  readonly id: string;
  readonly title: string;
  readonly lines: LogLine[];
  isRemoved: boolean;
  cuts: number;
  failure: Error | undefined;
}

/** Containers that print when told to. */
class FakeRelease implements MergedLogPlace {
  /** Logs that are being read. */
  open = 0;
  /** Whether the only container has no title, as with replicas. */
  hidesOnly = false;
  readonly #logs: FakeLog[] = [];
  #changes = Promise.withResolvers<void>();

  add(title: string): void {
    const id = String(this.#logs.length + 1).padStart(12, "0");
    this.#logs.push({ id, title, lines: [], isRemoved: false, cuts: 0, failure: undefined });
    this.#wake();
  }
  remove(title: string): void {
    this.#log(title).isRemoved = true;
    this.#wake();
  }
  cut(title: string): void {
    this.#log(title).cuts += 1;
    this.#wake();
  }
  fail(title: string, failure: Error): void {
    this.#log(title).failure = failure;
    this.#wake();
  }
  print(title: string, line: string): void {
    const { lines } = this.#log(title);
    const cursor = cursorText({ moment: "2026-01-01T00:00:00.000000000Z", count: lines.length + 1 });
    lines.push({ cursor, line });
    this.#wake();
  }

  async containers() {
    const own = this.#logs.filter(({ isRemoved }) => !isRemoved);
    const hasTitles = own.length > 1 || !this.hidesOnly;
    return own.map(({ id, title }) => ({ id, title: hasTitles ? title : undefined }));
  }
  async changed(signal: AbortSignal | undefined): Promise<void> {
    await this.#changeOrEnd(signal);
  }
  async *read(containerId: string, { after = "", signal }: LogQuery): AsyncGenerator<LogLine> {
    const log = this.#logs.find(({ id }) => id === containerId);
    if (log === undefined) return;
    const { cuts } = log;
    let at = log.lines.findIndex(({ cursor }) => cursor === after) + 1;
    this.open += 1;
    try {
      while (!signal?.aborted && log.cuts === cuts) {
        const changed = this.#changeOrEnd(signal);
        if (log.failure !== undefined) throw log.failure;
        for (; at < log.lines.length; at += 1) yield* log.lines.slice(at, at + 1);
        if (log.isRemoved) return;
        await changed;
      }
    } finally {
      this.open -= 1;
    }
  }

  #log(title: string): FakeLog {
    const log = this.#logs.find((each) => each.title === title);
    if (log === undefined) throw new Error(`No container is called ${title}.`);
    return log;
  }
  #wake(): void {
    this.#changes.resolve();
    this.#changes = Promise.withResolvers();
  }
  async #changeOrEnd(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([promise, this.#changes.promise]);
  }
}
