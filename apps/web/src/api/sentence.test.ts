import { expect, it } from "vitest";
import { sentenceOf } from "./sentence.ts";

const refused = { code: "request.invalid", message: "Validation failed." } as const;

it("says what is wrong with each field, not that validation failed", () => {
  expect(sentenceOf({ ...refused, errors: { port: ["Must be a port."], _: ["Limit reached."] } })).toBe(
    "port: Must be a port. Limit reached.",
  );
});

it("keeps the message of other errors, and of one that names no field", () => {
  expect(sentenceOf({ code: "resource.state", message: "It is stopped." })).toBe("It is stopped.");
  expect(sentenceOf({ ...refused, errors: {} })).toBe("Validation failed.");
});
