import type { Site } from "@berth/core/ports";
import { fs } from "./builtins.ts";
import { createControlServer } from "./control.ts";
import { createListener } from "./listener.ts";
import { type ProxyConfig, socketName, WARM_ARGUMENT } from "./protocol.ts";
import { createState } from "./state.ts";
import { sitesOfFile, TABLE_FILE } from "./table-file.ts";

const FOLDER_CHECK_MS = 2000;

const [, , argument = ""] = process.argv;
process.getBuiltinModule("node:module").flushCompileCache();
if (argument !== WARM_ARGUMENT) serve(JSON.parse(argument) as ProxyConfig); // Written by `embedded.ts`.

/**
 * The process of the embedded proxy, started by `embedded.ts` in the proxy's folder. It opens its control socket
 * there, reads the route table and listens. From then on it needs no file and no control plane.
 */
function serve(config: ProxyConfig): void {
  process.title = "berth-proxy";
  const state = createState(config);
  state.syncSites(readTable());
  const listener = createListener(config, state);
  process.on("SIGTERM", () => listener.stop());
  const socket = socketName(process.pid);
  fs.rmSync(socket, { force: true }); // Left by an earlier process with the same process id.
  // Opened first: listening may drop the privileges that creating the socket needs.
  createControlServer(state, listener).listen(socket, () => listener.listen());
  // Opened now: after dropping privileges, the process may not be able to enter the folder.
  const folder = fs.openSync(".", "r");
  // When its socket was removed nobody can stop it, and it would occupy its port for ever.
  setInterval(() => {
    if (fs.fstatSync(folder).nlink === 0) listener.retire();
  }, FOLDER_CHECK_MS);
}

/** Starts without routes when the table cannot be read: a starting control plane sends it. */
function readTable(): readonly Site[] {
  if (!fs.existsSync(TABLE_FILE)) return [];
  try {
    return [...sitesOfFile(fs.readFileSync(TABLE_FILE, "utf8")).values()];
  } catch (error) {
    console.error("The routes of %s cannot be read:", TABLE_FILE, error);
    return [];
  }
}
