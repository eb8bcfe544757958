import { describe, expect, it } from "vitest";
import { type Arrow, type Box, layoutOf, type Rectangle } from "./layout.ts";

const box = (id: string, rank = 0, frame = "nuc"): Box => ({ id, rank, frame });
const arrows = (...texts: readonly string[]): Arrow[] =>
  texts.map((text) => {
    const [from = "", to = ""] = text.split(" ");
    return { from, to };
  });
const WIDE = 1200;

/** The boxes as a picture: frames from top to bottom, columns from left to right. */
function pictureOf(boxes: readonly Box[], used: readonly Arrow[], width = WIDE) {
  const { boxes: placed } = layoutOf(boxes, used, width);
  const columns = Map.groupBy(boxes, ({ id }) => placed.get(id)?.x ?? -1);
  return [...columns]
    .sort(([a], [b]) => a - b)
    .map(([, own]) => own.sort((a, b) => (placed.get(a.id)?.y ?? 0) - (placed.get(b.id)?.y ?? 0)).map(({ id }) => id));
}

describe("the layout of a map", () => {
  it.each<[string, readonly Box[], readonly Arrow[], readonly (readonly string[])[]]>([
    ["nothing", [], [], []],
    ["one thing", [box("api")], [], [["api"]]],
    ["things of two kinds, which use nothing", [box("db", 2), box("api", 1)], [], [["api"], ["db"]]],
    ["what uses to the left of what is used", [box("db"), box("api")], arrows("api db"), [["api"], ["db"]]],
    ["a chain", [box("a"), box("b"), box("c")], arrows("a b", "b c", "a c"), [["a"], ["b"], ["c"]]],
    ["a circle", [box("a"), box("b")], arrows("a b", "b a"), [["b"], ["a"]]],
    ["what uses itself", [box("a"), box("b")], arrows("a a"), [["a", "b"]]],
    ["an arrow to what is not there", [box("a")], arrows("a gone", "gone a"), [["a"]]],
    [
      "databases in the order of their users",
      [box("api"), box("web"), box("cache"), box("db")],
      arrows("web cache", "api db"),
      [
        ["api", "web"],
        ["db", "cache"],
      ],
    ],
  ])("shows %s", (_what, boxes, used, expected) => {
    expect(pictureOf(boxes, used)).toEqual(expected);
  });

  it("is the same whenever it is made, and whatever the order of the arrows", () => {
    const boxes = ["a", "b", "c", "d", "e"].map((id, at) => box(id, at % 3));
    const used = arrows("a c", "b c", "d e", "a e");
    const { paths: _, ...first } = layoutOf(boxes, used, WIDE);
    const { paths: __, ...second } = layoutOf(boxes, [...used].reverse(), WIDE);
    expect(second).toEqual(first);
  });

  it("keeps what is on one server in one frame, and frames apart", () => {
    const boxes = [box("a", 0, "nuc"), box("b", 0, "vps"), box("c", 1, "nuc"), box("d", 0, "vps")];
    const { frames, boxes: placed, height, width } = layoutOf(boxes, arrows("b c", "a c"), WIDE);
    for (const { id, frame } of boxes) expect(isWithin(placed.get(id), frames.get(frame))).toBe(true);
    const [nuc, vps] = ["nuc", "vps"].map((name) => frames.get(name));
    expect(vps?.y).toBeGreaterThan((nuc?.y ?? 0) + (nuc?.height ?? 0));
    for (const frame of frames.values()) expect(isWithin(frame, { x: 0, y: 0, width, height })).toBe(true);
  });

  it.each([1200, 700, 390, 320, 0])("lets no boxes overlap in %d pixels, and fits into them", (width) => {
    const boxes = Array.from({ length: 40 }, (_none, at) => box(`r${at}`, at % 4, `server ${at % 3}`));
    const used = boxes.flatMap(({ id }, at) => [{ from: id, to: `r${(at * 7) % 40}` }]);
    const layout = layoutOf(boxes, used, width);
    const places = [...layout.boxes.values()];
    expect(places).toHaveLength(40);
    for (const [at, one] of places.entries()) {
      for (const other of places.slice(at + 1)) expect(overlap(one, other)).toBe(false);
    }
    if (width >= 320) expect(layout.width).toBeLessThanOrEqual(width);
    expect(layout.paths.every((path) => !path.includes("NaN"))).toBe(true);
  });

  it("draws an arrow from the right side of the user to the left side of what is used, and around a column", () => {
    const boxes = [box("api"), box("web"), box("db", 1)];
    const { boxes: placed, paths } = layoutOf(boxes, arrows("api db", "db web", "api gone"), WIDE);
    const [api, web, db] = boxes.map(({ id }) => placed.get(id));
    const rightOf = (one: Rectangle | undefined) => (one?.x ?? 0) + (one?.width ?? 0);
    expect(paths[0]).toMatch(new RegExp(`^M${rightOf(api)} .* ${db?.x} \\d+m-`));
    expect(web?.x).toBeGreaterThan(db?.x ?? 0);
    expect(paths[2]).toBe("");
    const narrow = layoutOf(boxes, arrows("api db"), 320);
    expect(narrow.paths[0]).toMatch(
      new RegExp(`^M${rightOf(narrow.boxes.get("api"))} .* ${rightOf(narrow.boxes.get("db"))} \\d+m7`),
    );
  });
});

const isWithin = (inner: Rectangle | undefined, outer: Rectangle | undefined) =>
  inner !== undefined &&
  outer !== undefined &&
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const overlap = (a: Rectangle, b: Rectangle) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
