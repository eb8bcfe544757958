import type { Site } from "@berth/core/ports";
import { fs } from "./builtins.ts";
import { createControlServer } from "./control.ts";
import { createListener } from "./listener.ts";
import { type ProxyConfig, socketName, TABLE_FILE, type TableFile, WARM_ARGUMENT } from "./protocol.ts";
import { createState } from "./state.ts";

const FOLDER_CHECK_MS = 2000;

const [, , argument = ""] = process.argv;
process.getBuiltinModule("node:module").flushCompileCache();
if (argument !== WARM_ARGUMENT) serve(JSON.parse(argument) as ProxyConfig); // Written by `embedded.ts`.

/**
 * The embedded proxy's own process, started by `embedded.ts` in the proxy's folder. It opens its control socket there,
 * reads the table and listens. From then on it reads no file, and serves whether there is a control plane or not.
 */
function serve(config: ProxyConfig): void {
  process.title = "berth-proxy";
  const state = createState(config);
  state.changeSites((sites) => {
    for (const site of readTable()) sites.set(site.id, site);
  });
  const listener = createListener(config, state);
  process.on("SIGTERM", () => listener.stop());
  const socket = socketName(process.pid);
  fs.rmSync(socket, { force: true }); // Of an earlier process that had the same number.
  // Listening comes second, since it may take away the right to make the socket.
  createControlServer(state, listener).listen(socket, () => listener.listen());
  // Opened while it still may: once it listens, the folder may be closed to its user.
  const folder = fs.openSync(".", "r");
  // Out of everyone's reach, it would hold its port for ever.
  setInterval(() => {
    if (fs.fstatSync(folder).nlink === 0) listener.retire();
  }, FOLDER_CHECK_MS);
}

/** Serves without routes when the table cannot be read: the control plane sends it at its start. */
function readTable(): readonly Site[] {
  if (!fs.existsSync(TABLE_FILE)) return [];
  try {
    const { sites } = JSON.parse(fs.readFileSync(TABLE_FILE, "utf8")) as TableFile; // Written by `embedded.ts`.
    return sites;
  } catch (error) {
    console.error("The routes of %s cannot be read:", TABLE_FILE, error);
    return [];
  }
}
