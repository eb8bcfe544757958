// Loaded into a server: writes a line for each program that it starts, and for each fork of its own.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";

const { BERTH_TEST_SPAWNS: file = "" } = process.env;
const write = (kind: "program" | "fork", argv: unknown) => appendFileSync(file, `${kind} ${JSON.stringify(argv)}\n`);

subscribe("berth.program", (argv) => write("program", argv));
subscribe("child_process", (message) => {
  const { process: child } = message as { readonly process: { readonly spawnargs?: readonly string[] } };
  // Its arguments are set after the message.
  setImmediate(() => write("fork", child.spawnargs));
});
