import type { LogLine } from "@berth/core/ports";
import { eventually } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { io, type Subject, textsOf } from "./conformance.fixture.ts";

export function logsConformance(subject: Subject): void {
  const { started, ask, linesOf } = subject;

  describe("logs", () => {
    test("answers the last lines, and continues after a cursor", async () => {
      const spec = await started();
      for (const text of ["one", "two", "three"]) await ask(spec, "log", { text });
      await eventually(async () => expect(textsOf(await linesOf(spec)).at(-1)).toBe("three"));
      expect(textsOf(await linesOf(spec, { lines: 2 }))).toEqual(["two", "three"]);
      expect(await linesOf(spec, { lines: 0 })).toEqual([]);
      const [first, ...rest] = await linesOf(spec);
      expect(await linesOf(spec, { after: first?.cursor ?? "" })).toEqual(rest);
      expect(await linesOf(spec, { after: rest.at(-1)?.cursor ?? "" })).toEqual([]);
    });

    test("answers the lines since a moment, or says that it does not know their moments", async () => {
      const spec = await started();
      for (const text of ["one", "two", "three"]) await ask(spec, "log", { text });
      await eventually(async () => expect(textsOf(await linesOf(spec)).at(-1)).toBe("three"));
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
          for await (const line of subject.engine.logs(spec, query)) seen.push(line);
        })();
        return { stop, done };
      };

      let following = follow(undefined);
      for (const text of texts.slice(0, 10)) await ask(spec, "log", { text });
      await eventually(() => expect(textsOf(seen)).toContain("line 4"));
      following.stop.abort();
      await following.done;
      await subject.reincarnate();
      for (const text of texts.slice(10, 20)) await ask(spec, "log", { text });
      following = follow(seen.at(-1)?.cursor);
      await subject.engine.stop(spec, { graceSeconds: 5 });
      await subject.engine.start(spec, io);
      for (const text of texts.slice(20)) await ask(spec, "log", { text });
      await eventually(() => expect(textsOf(seen)).toContain("line 29"));
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
      await subject.engine.remove(spec, { graceSeconds: 5 });
      expect(textsOf(await lines)).toContain("listening");
    });

    test("reports an unknown release", async () => {
      const ref = { resourceUuid: "nobody", deploymentUuid: "nothing" };
      await expect(linesOf(ref)).rejects.toMatchObject({ code: "resource.not_found" });
    });
  });
}
