import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { changedPlan, sourcesOf } from "./definition.ts";
import { type Definition, PlannedExec, PlannedStep, type SourceOp } from "./messages.ts";

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
  const changed = changedPlan(plan, { sources: new Map([[digestOf(url), local]]) });
  const [first, second, third, fourth, last] = changed.def;
  expect([second, fourth]).toEqual([image, beside]);
  const [source, copy, terminal] = [first, third, last].map((bytes = new Uint8Array()) => PlannedStep.decode(bytes));
  expect(source?.source).toEqual(local);
  expect(copy).toMatchObject({ inputs: after(image, first ?? url), file: new Uint8Array([9]), platform });
  expect(terminal?.inputs).toEqual(after(third ?? url, beside));
  expect(Object.keys(changed.metadata)).toEqual([first, third, fourth].map((one = url) => digestOf(one)));
});

test("every program of a plan runs in the group, whatever the frontend has planned", () => {
  const groupsOf = ({ def }: Definition) =>
    def
      .flatMap((bytes) => PlannedStep.decode(bytes).exec ?? [])
      .map((exec) => PlannedExec.decode(exec).meta?.cgroupParent);
  const rest = new Uint8Array([0x18, 0x01]); // The network of the step.
  const execOf = (group: string) =>
    new Uint8Array(Buffer.concat([PlannedExec.encode({ meta: { cgroupParent: group } }), rest]));
  const without = step({ inputs: after(image), exec: rest });
  const other = step({ inputs: after(without), exec: execOf("/mine") });
  const same = step({ inputs: after(image), exec: execOf("/limited") });
  const last = step({ inputs: after(other, same) });
  const planned: Definition = { def: [image, without, other, same, last], metadata: {} };
  const changed = changedPlan(planned, { sources: new Map(), group: "/limited" });
  expect(groupsOf(changed)).toEqual(["/limited", "/limited", "/limited"]);
  const [first, second = without, third = other, fourth, terminal = last] = changed.def;
  expect([first, fourth]).toEqual([image, same]);
  expect(Buffer.from(PlannedStep.decode(second).exec ?? []).subarray(0, 2)).toEqual(Buffer.from(rest));
  expect(PlannedStep.decode(third).inputs).toEqual(after(second));
  expect(PlannedStep.decode(terminal).inputs).toEqual(after(third, same));
  expect(changedPlan(changed, { sources: new Map(), group: "/limited" })).toBe(changed);
  expect(changedPlan(planned, { sources: new Map() })).toBe(planned);
});

test("a plan with steps that may fetch anything while it runs is refused", () => {
  const nested = step({ inputs: after(image), build: new Uint8Array([1]) });
  expect(() => sourcesOf({ def: [image, nested, end], metadata: {} })).toThrow("contains another plan");
  // Encodes the unknown field 20.
  const unknown = new Uint8Array([0xa2, 0x01, 0x01, 0x07]);
  expect(() => sourcesOf({ def: [image, unknown, end], metadata: {} })).toThrow("unknown kind");
});
