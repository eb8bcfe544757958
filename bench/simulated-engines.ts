// Engines without containers: `node simulated-engines.ts FOLDER COUNT` listens on FOLDER/server-N.sock, one per
// engine.
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";

const [folder = "", count = "0"] = process.argv.slice(2);

const ANSWERS: Readonly<Record<string, unknown>> = {
  "/version": { Version: "28.5.2", ApiVersion: "1.51", MinAPIVersion: "1.24", Os: "linux", Arch: "amd64" },
  "/info": {
    ...{ OSType: "linux", Architecture: "x86_64", OperatingSystem: "Debian GNU/Linux 13", KernelVersion: "6.12" },
    ...{ NCPU: 4, MemTotal: 8 * 1024 ** 3, DockerRootDir: "/", ServerVersion: "28.5.2" },
  },
  "/containers/json": [],
  "/images/json": [],
  "/networks": [],
  "/volumes": { Volumes: [], Warnings: null },
};

function answer(path: string, response: ServerResponse): void {
  response.setHeader("Api-Version", "1.51");
  if (path === "/_ping") return void response.end("OK");
  // The event stream stays open and silent, since nothing ever happens.
  if (path === "/events") return void response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  const body = ANSWERS[path];
  response.setHeader("content-type", "application/json");
  if (body === undefined) response.writeHead(404).end(JSON.stringify({ message: `No such object: ${path}` }));
  else response.end(JSON.stringify(body));
}

for (let n = 1; n <= Number(count); n += 1) {
  const server = createServer(({ url = "/" }, response) => {
    answer(new URL(url, "http://engine").pathname.replace(/^\/v1\.\d+/, ""), response);
  });
  server.listen(join(folder, `server-${n}.sock`));
}
