import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { sourcesOf, withSources } from "./definition.ts";
import { type Definition, PlannedStep, type SourceOp } from "./messages.ts";

const digestOf = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const step = (one: Partial<Parameters<typeof PlannedStep.encode>[0]>): Uint8Array<ArrayBuffer> =>
  new Uint8Array(PlannedStep.encode({ inputs: [], ...one }));
const after = (...inputs: Uint8Array[]) => inputs.map((one) => ({ digest: digestOf(one), index: 0 }));

const URL: SourceOp = { identifier: "https://example.com/a", attrs: { "http.filename": "a" } };
const IMAGE: SourceOp = { identifier: "docker-image://alpine", attrs: {} };
const platform = new Uint8Array([1, 2, 3]);
const url = step({ source: URL });
const image = step({ source: IMAGE, platform });
const copied = step({ inputs: after(image, url), file: new Uint8Array([9]), platform });
const beside = step({ inputs: after(image), exec: new Uint8Array([7]) });
const end = step({ inputs: after(copied, beside) });
const plan: Definition = {
  def: [url, image, copied, beside, end],
  metadata: Object.fromEntries([url, copied, beside].map((one, index) => [digestOf(one), new Uint8Array([index])])),
};

test("the sources of a plan are known by their steps", () => {
  expect([...sourcesOf(plan)]).toEqual([
    [digestOf(url), URL],
    [digestOf(image), IMAGE],
  ]);
});

test("another source changes the names of all that follows it, and nothing else", () => {
  const local: SourceOp = { identifier: "local://x", attrs: {} };
  const changed = withSources(plan, new Map([[digestOf(url), local]]));
  const [first, second, third, fourth, last] = changed.def;
  expect([second, fourth]).toEqual([image, beside]);
  const [source, copy, terminal] = [first, third, last].map((bytes = new Uint8Array()) => PlannedStep.decode(bytes));
  expect(source?.source).toEqual(local);
  expect(copy).toMatchObject({ inputs: after(image, first ?? url), file: new Uint8Array([9]), platform });
  expect(terminal?.inputs).toEqual(after(third ?? url, beside));
  expect(Object.keys(changed.metadata)).toEqual([first, third, fourth].map((one = url) => digestOf(one)));
});

test("a plan with steps that may fetch anything while it runs is refused", () => {
  const nested = step({ inputs: after(image), build: new Uint8Array([1]) });
  expect(() => sourcesOf({ def: [image, nested, end], metadata: {} })).toThrow("contains another plan");
  // Encodes the unknown field 20.
  const unknown = new Uint8Array([0xa2, 0x01, 0x01, 0x07]);
  expect(() => sourcesOf({ def: [image, unknown, end], metadata: {} })).toThrow("unknown kind");
});
