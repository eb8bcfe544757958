// Loaded into a server: writes a line for each process that it starts.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";

const { BERTH_TEST_SPAWNS: file = "" } = process.env;

subscribe("child_process", (message) => {
  const { process: child } = message as { readonly process: { readonly spawnargs?: readonly string[] } };
  // Its arguments are set after the message.
  setImmediate(() => appendFileSync(file, `${JSON.stringify(child.spawnargs)}\n`));
});
