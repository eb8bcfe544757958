import { expect, test } from "vitest";
import { answerCheck } from "./answers.fixture.ts";

const project = { id: 1, uuid: "p1", name: "shop", description: null };

test("an answer as it is documented passes, and one that differs does not", async () => {
  const check = await answerCheck();
  check("GET", "/projects?take=1", { status: 200, json: [] });
  check("GET", "/nothing/here", { status: 404, json: {} });
  expect(() => check("GET", "/projects", { status: 200, json: [{ ...project, id: "1" }] })).toThrow(/\/0\/id/);
  expect(() => check("GET", "/projects/p1", { status: 200, json: { uuid: "p1" } })).toThrow("is not as documented");
  expect(() => check("GET", "/projects/p1", { status: 404, json: { message: 7 } })).toThrow("is not as documented");
  expect(() => check("GET", "/projects", { status: 418, json: {} })).toThrow("answered 418, which is not documented");
});
