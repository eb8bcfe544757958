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
  ["uncaughtException", Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })],
  ["uncaughtException", Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" })],
  ["uncaughtException", Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" })],
  ["uncaughtException", Object.assign(new Error("Keepalive timeout"), { level: "client-timeout" })],
  ["uncaughtException", new Error("Connection terminated unexpectedly")],
  ["unhandledRejection", new Error("nobody awaited it")],
] as const)("an %s of a connection is written down, and ends nothing: %o", (event, cause) => {
  const { emitter, exit, error } = program();
  emitter.emit(event, cause);
  expect(error).toHaveBeenCalledWith(expect.any(String), { error: cause });
  expect(exit).not.toHaveBeenCalled();
});

test.each([
  new TypeError("undefined is not a function"),
  Object.assign(new TypeError("The argument must be a string"), { code: "ERR_INVALID_ARG_TYPE" }),
])("any other error that nobody catches ends the process with its cause in the log: %o", (cause) => {
  const { emitter, exit, error } = program();
  emitter.emit("uncaughtException", cause);
  expect(error).toHaveBeenCalledWith(expect.any(String), { error: cause });
  expect(exit).toHaveBeenCalledWith(70);
});
