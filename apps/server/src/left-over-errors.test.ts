import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { handleLeftOverErrors } from "./left-over-errors.ts";

function program() {
  const emitter = new EventEmitter();
  const exit = vi.fn();
  const error = vi.fn();
  handleLeftOverErrors({ on: (event, listener) => emitter.on(event, listener), exit }, { error });
  return { emitter, exit, error };
}

test.each([
  ["uncaughtException", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" })],
  ["unhandledRejection", new Error("nobody awaited it")],
] as const)("an %s of a connection is written down, and ends nothing", (event, cause) => {
  const { emitter, exit, error } = program();
  emitter.emit(event, cause);
  expect(error).toHaveBeenCalledWith(expect.any(String), { error: cause });
  expect(exit).not.toHaveBeenCalled();
});

test("any other error that nobody catches ends the process with its cause in the log", () => {
  const { emitter, exit, error } = program();
  const cause = new TypeError("undefined is not a function");
  emitter.emit("uncaughtException", cause);
  expect(error).toHaveBeenCalledWith(expect.any(String), { error: cause });
  expect(exit).toHaveBeenCalledWith(70);
});
