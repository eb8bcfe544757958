import { expect, test } from "vitest";
import { labelChange, labelLines, labelText } from "./node-labels.ts";

test("labels are edited as lines, and only what changed is sent", () => {
  const before = { zone: "a", disk: "ssd", rack: "7" };
  expect(labelText(before)).toBe("disk=ssd\nrack=7\nzone=a");
  expect(labelChange(before, "zone = b\n\n  disk=ssd\nmodel=x=1\n")).toEqual({ rack: null, zone: "b", model: "x=1" });
  expect(labelChange(before, labelText(before))).toEqual({});
  expect(labelChange(before, null)).toEqual({ zone: null, disk: null, rack: null });
});

test.each([
  ["zone=a\nrack=Rack 3/b", []],
  ["zone", ["zone must have the form NAME=VALUE."]],
  ["zone=\n=a", ["=a must have the form NAME=VALUE."]],
  ["odd=a,b\nzone=", []],
  [
    "berth.storage.x=here",
    [expect.stringMatching(/^berth\.storage\.x: Names that begin with berth\. are Berth's own/)],
  ],
  ["zone=a,b", [expect.stringMatching(/^zone: Has a character that no constraint could name/)]],
])("the lines %j have the problems %j", (labels, problems) => {
  const { error } = labelLines({ odd: "a,b" }).safeParse({ labels });
  expect((error?.issues ?? []).map(({ message }) => message)).toEqual(problems);
});
