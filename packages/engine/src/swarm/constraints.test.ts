import { expect, test } from "vitest";
import { fulfils } from "./constraints.ts";

const node = {
  ...{
    id: "n1",
    hostname: "web-1",
    isManager: false,
    isReady: true,
    isUnknown: false,
    isActive: true,
    os: "linux",
    architecture: "x86_64",
  },
  ...{ labels: { zone: "a" }, engineLabels: { disk: "ssd" } },
};

test.each<[boolean, string[]]>([
  [true, []],
  [true, ["node.role==worker", "node.hostname==WEB-1"]],
  [false, ["node.role==worker", "node.hostname!=web-1"]],
  [true, ["node.labels.zone==a", "engine.labels.disk==ssd", "node.platform.os==linux"]],
  [false, ["node.labels.zone==b"]],
  [false, ["node.labels.other==a"]],
  [true, ["node.labels.other!=a"]],
  [false, ["node.id==stopped"]],
  [true, ["node.ip==10.0.0.0/8"]],
])("it is %s that a node fulfils %j", (wanted, constraints) => {
  expect(fulfils(node, constraints)).toBe(wanted);
});
