import type { TestRepository } from "@berth/testing";
import { createApplication, deploy, temporaryRepository } from "../../server/e2e/applications.fixture.ts";
import type { TestServer } from "../../server/e2e/server.fixture.ts";

/** Prints numbered lines: one every 50 ms if `TICKS` is on, and as many at once as it is asked for. */
const SOURCE = `
  let number = 0;
  const print = (count) => {
    let text = "";
    for (let line = 0; line < count; line++) text += "line " + ++number + "\\n";
    process.stdout.write(text);
  };
  require("node:http").createServer((request, response) => {
    const { searchParams } = new URL(request.url, "http://localhost");
    print(Number(searchParams.get("count") ?? 0));
    response.end("printed");
  }).listen(process.env.PORT);
  if (process.env.TICKS === "on") setInterval(print, 50, 1);
  process.on("SIGTERM", () => process.exit(0));
`;

export const printingRepository = (): TestRepository & { dispose(): void } =>
  temporaryRepository({
    "package.json": JSON.stringify({ name: "printing", version: "1.0.0", scripts: { start: "node server.js" } }),
    "server.js": SOURCE,
  });

/** An application that prints, once it runs. */
export async function printingApplication(
  server: TestServer,
  repository: TestRepository,
  settings: { readonly name: string; readonly ticks: boolean },
): Promise<{ readonly uuid: string; readonly host: string }> {
  const made = await createApplication(server, repository, { name: settings.name });
  if (settings.ticks) {
    await server.client.applications.envs.create.mutate({ uuid: made.uuid, key: "TICKS", value: "on" });
  }
  const { status, error } = await deploy(server, made.uuid);
  if (status !== "finished") throw new Error(`Not deployed: ${error}`);
  return made;
}
