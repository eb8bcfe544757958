// A server whose machines are sockets: `BERTH_ENGINES` is the folder of `NAME.sock`.
import { join } from "node:path";
import { readConfig } from "../apps/server/src/config.ts";
import { logger } from "../apps/server/src/logger.ts";
import { progress } from "../apps/server/src/progress.ts";
import { startServer } from "../apps/server/src/server.ts";
import { localHost } from "../packages/host/src/index.ts";

const folder = process.env.BERTH_ENGINES ?? "";

const server = await startServer(readConfig(process.env), {
  log: logger("warn"),
  progress: progress(process.stdout),
  hostOf({ name }) {
    const here = localHost(name);
    return { ...here, connectSocket: (_path, signal) => here.connectSocket(join(folder, `${name}.sock`), signal) };
  },
});
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)));
